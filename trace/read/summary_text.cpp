// A run's summary as a table for people and as JSON for programs.
#include <algorithm>
#include <set>
#include <tuple>

#include "trace/clocks/clock_text.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/sentences.h"
#include "trace/read/summary.h"
#include "trace/record_fields.h"
#include "trace/totals.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

std::string percent_or_dash(bool known, double share) {
  return known ? formatted("%.1f", 100 * share) : "-";
}

std::string startup_seconds(const RankSummary& rank) {
  if (rank.totals.iterations == 0) return "all";
  return rank.totals.startup ? formatted("%.3f", milliseconds(rank.totals.startup->length) / 1e3) : "-";
}

// Only the process itself knows it.
std::string dropped(const RankSummary& rank) {
  return rank.complete ? std::to_string(rank.totals.dropped_records) : "-";
}

// Behind a name that may be longer than a line of formatted().
std::string row(std::size_t width, const std::string& name, const RankSummary& rank, const std::string& startup) {
  const TraceSummary& totals = rank.totals;
  const bool fills = rank.header.mode != "observe" || totals.filled > Duration{};
  const bool compared = totals.slowdown && totals.slowdown->is_known();
  const PartOfRun shown = rank.shown();
  const bool measured = is_measured(rank.header) && shown.window > Duration{};
  return std::string(width - std::min(width, name.size()), ' ') + name +
         formatted(" %10llu %13s %8s %11s %12s %10s %7llu %7llu %9s %15s %11s\n", number(totals.iterations),
                   (totals.iterations > 0 ? formatted("%.3f", milliseconds(totals.iteration_median)) : "-").c_str(),
                   (measured ? formatted("%.2f", 100 * shown.idle_share()) : "unknown").c_str(),
                   (measured ? formatted("%.2f", 100 * shown.uncertain_share()) : "unknown").c_str(),
                   (measured ? percent_or_dash(fills, shown.conversion()) : "unknown").c_str(), startup.c_str(),
                   number(totals.fill_units), number(totals.fill_units_wrong), dropped(rank).c_str(),
                   percent_or_dash(rank.forecast_error.has_value(), rank.forecast_error.value_or(0)).c_str(),
                   compared ? formatted("%+.2f", 100 * totals.slowdown->estimate).c_str() : "-");
}

// The shares in the rows are of what comes after it.
std::string startup_line(const RankSummary& total) {
  if (!total.steady() || !is_measured(total.header) || total.totals.startup->length <= Duration{}) return "";
  const StartupRecord& startup = *total.totals.startup;
  const PartOfRun part{startup.length, startup.idle, startup.uncertain, startup.filled, {}};
  std::string line = formatted("start-up, until the first iteration, is not in these shares: %.1f %% of it idle, ",
                               100 * part.idle_share()) +
                     formatted("%.1f %% uncertain", 100 * part.uncertain_share());
  if (part.filled > Duration{}) line += formatted(", %.1f %% of its idle time filled", 100 * part.conversion());
  return line + "\n";
}

std::string left_out_line(const RankSummary& total) {
  const PartOfRun shown = total.shown();
  if (shown.idle_left_out <= Duration{} || !is_measured(total.header)) return "";
  const double left_out = milliseconds(shown.idle_left_out) / milliseconds(shown.idle);
  return formatted("iterations without fill, for comparison, have %.1f %% of the idle time; of the rest ",
                   100 * left_out) +
         formatted("%.1f %% is filled\n", 100 * shown.conversion_of_filled_iterations());
}

std::string moved_line(const RankSummary& total) {
  if (total.totals.moved <= Duration{}) return "";
  return formatted("copies of fill memory to the host and back took %.1f ms, which count as filled nowhere\n",
                   milliseconds(total.totals.moved));
}

std::string causes(const RankSummary& total) {
  Duration all{};
  for (const auto& [cause, idle] : total.idle_by_cause) add_to(all, idle);
  if (all <= Duration{}) return "";
  std::string line = "idle by cause (whole run):";
  const char* separator = " ";
  for (const auto& [cause, idle] : total.idle_by_cause) {
    line += separator + cause + formatted(" %.1f %%", 100 * milliseconds(idle) / milliseconds(all));
    separator = ", ";
  }
  return line + "\n";
}

// Of ranks that were killed it is not known: those that tell it are compared with their own time.
std::string cpu_line(const RunSummary& run) {
  Duration window{}, cpu{}, spun{};
  std::size_t ranks = 0;
  for (const RankSummary& rank : run.ranks) {
    if (rank.unsure || rank.totals.cpu <= Duration{} || rank.window <= Duration{}) continue;
    ++ranks;
    add_to(window, rank.window);
    add_to(cpu, rank.totals.cpu);
    add_to(spun, rank.totals.spun);
  }
  if (ranks == 0) return "";
  const auto share = [&](Duration time) {
    return 100 * static_cast<double>(time.count()) / static_cast<double>(window.count());
  };
  std::string text = formatted("CPU of Weft's threads: %.2f %% of a core for each rank", share(cpu));
  if (ranks < run.ranks.size()) text += formatted(" of %zu that tell it", ranks);
  if (spun > Duration{}) text += formatted(", %.2f %% in looks without sleep", share(spun));
  return text + "\n";
}

std::string slowdown_line(const RankSummary& total) {
  if (!total.totals.slowdown) return "";
  const SlowdownRecord& slowdown = *total.totals.slowdown;
  if (slowdown.control == 0) return "slowdown: not known, too few iterations without fill to compare with\n";
  return formatted("slowdown: at most %+.2f %% on any rank (95 %% interval %+.2f to %+.2f %%), budget %.3g %%%s\n",
                   100 * slowdown.estimate, 100 * slowdown.low, 100 * slowdown.high, 100 * slowdown.budget,
                   slowdown.is_of_something_else() ? "; not the doing of fill work, whose price is not known" : "");
}

// Dark time is in no share: it is said how much there was.
std::string watching_line(const RankSummary& total) {
  const TraceSummary& totals = total.totals;
  if (totals.dark <= Duration{}) return "";
  std::string text = formatted("for %.2f %% of the time nobody looked, and that is in no share",
                               milliseconds(totals.dark) / milliseconds(total.window) * 100);
  if (!totals.watching || totals.watching->dark == 0)
    return text + ": too few such iterations to tell what watching costs\n";
  return text + formatted(": watching costs at most %+.2f %% on any rank (95 %% interval %+.2f to %+.2f %%)\n",
                          100 * totals.watching->estimate, 100 * totals.watching->low, 100 * totals.watching->high);
}

// Where its name does not tell it.
std::string cause_of(Cause cause) {
  return cause == Cause::host || cause == Cause::unknown ? name_of(cause) + std::string(", ") : "";
}

// Of the schedule, where the framework has said it. An annotated bubble has that in its name.
std::string place_of(const SlotTotals& totals) {
  const Said& said = totals.said;
  if (said.stage < 0) return "";
  return std::string(totals.cause == Cause::schedule ? " (" : " (annotated: ") +
         formatted(said.chunk < 0 ? "stage %d)" : "stage %d, chunk %d)", said.stage, said.chunk);
}

// The name of a collective has its bytes, and an annotated bubble has none.
std::string slot_line(const RankSlot& longest, const RankSummary& rank, Duration all) {
  const SlotTotals& totals = longest.slot;
  const bool has_phase = longest.name.phase != Phase::unknown;
  const bool has_bytes = totals.cause != Cause::collective && totals.cause != Cause::schedule;
  const double share = all > Duration{} ? milliseconds(totals.idle) / milliseconds(all) : 0;
  std::string line = "  rank " + rank.name + ": " + longest.name.text + place_of(totals);
  if (has_phase) line += std::string(", ") + phase_names[static_cast<std::size_t>(longest.name.phase)];
  line += "; " + cause_of(totals.cause);
  if (has_bytes) line += formatted("%llu bytes, ", number(totals.slot.bytes));
  return line + formatted("%llu bubble%s, median %.3f ms, %.1f %% of the idle time\n", number(totals.bubbles),
                          totals.bubbles == 1 ? "" : "s", milliseconds(totals.median), 100 * share);
}

// The totals of a summary line. Where and when they are of is said elsewhere.
class JsonFields : public IgnoredFields {
 public:
  explicit JsonFields(ordered_json& json) : json_(json) {}

  void total(const char* key, std::uint64_t value) { json_[key] = value; }
  void total(const char* key, Duration value) { json_[key] = value.count(); }
  void total_if(bool known, const char* key, Duration value) {
    json_[key] = known ? ordered_json(value.count()) : nullptr;
  }
  void length(const char* key, Duration value) { json_[key] = value.count(); }
  void flag(const char* key, bool value) { json_[key] = value; }
  void text(const char* key, std::string_view value) { json_[key] = value; }
  void counts(const char* key, const auto& names, const auto& values) {
    ordered_json& object = json_[key] = ordered_json::object();
    for (std::size_t i = 0; i < values.size(); ++i) object[names[i]] = values[i];
  }
  void list(const char* key, const List<JobTotals, most_job_totals>& jobs);
  template <class Price>
  void object(const char* key, const std::optional<Price>& price);
  void object(const char* key, const std::optional<StartupRecord>& startup);

 private:
  ordered_json& json_;
};

// Of filling, or of watching.
class PriceFields : public IgnoredFields {
 public:
  explicit PriceFields(ordered_json& json) : json_(json) {}
  void count(const char* key, std::uint64_t value) { json_[key] = value; }
  void share(const char* key, double value) { json_[key] = value; }
  void choice(const char* key, const auto& names, auto value) { json_[key] = names[static_cast<std::size_t>(value)]; }
  void share_if(bool known, const char* key, double value) { json_[key] = known ? ordered_json(value) : nullptr; }

 private:
  ordered_json& json_;
};

void JsonFields::list(const char* key, const List<JobTotals, most_job_totals>& jobs) {
  ordered_json& list = json_[key] = ordered_json::array();
  for (const JobTotals& job : jobs) {
    ordered_json entry{{"job", job.job}};
    JsonFields fields(entry);
    visit_fields(fields, job);
    list.push_back(entry);
  }
}

template <class Price>
void JsonFields::object(const char* key, const std::optional<Price>& price) {
  ordered_json& object = json_[key] = nullptr;
  if (!price) return;
  PriceFields fields(object);
  visit_fields(fields, *price);
}

void JsonFields::object(const char* key, const std::optional<StartupRecord>& startup) {
  ordered_json& object = json_[key] = nullptr;
  if (!startup) return;
  JsonFields fields(object);
  visit_fields(fields, *startup);
}

ordered_json to_json(const std::optional<PartOfRun>& steady, bool measured) {
  if (!steady) return nullptr;
  const auto known = [&](double share) { return measured ? ordered_json(share) : nullptr; };
  return {{"window", steady->window.count()},
          {"idle_share", known(steady->idle_share())},
          {"uncertain_share", known(steady->uncertain_share())},
          {"conversion", known(steady->conversion())},
          {"conversion_of_filled_iterations", known(steady->conversion_of_filled_iterations())}};
}

ordered_json numbers(const RankSummary& rank) {
  ordered_json causes_of_idle = ordered_json::object(), result;
  for (const auto& [cause, idle] : rank.idle_by_cause) causes_of_idle[cause] = idle.count();
  const bool measured = is_measured(rank.header);
  JsonFields fields(result);
  visit_fields(fields, rank.totals);
  if (!rank.complete) result["dropped_records"] = nullptr;
  result["idle_unknown"] = std::string_view(rank.header.idle_unknown);
  result["window"] = rank.window.count();
  result["idle_share"] = measured ? ordered_json(rank.idle_share()) : nullptr;
  result["uncertain_share"] = measured ? ordered_json(rank.uncertain_share()) : nullptr;
  result["steady"] = to_json(rank.steady(), measured);
  result["end_uncertainty_high"] = rank.end_uncertainty_high.count();
  result["idle_near_ends"] = rank.idle_near_ends.count();
  result["idle_by_cause"] = causes_of_idle;
  result["conversion"] = measured ? ordered_json(rank.conversion()) : nullptr;
  result["forecasts"] = rank.forecasts;
  result["forecast_error"] = rank.forecast_error ? ordered_json(*rank.forecast_error) : nullptr;
  result["complete"] = rank.complete;
  result["unsure"] = rank.unsure;
  return result;
}

ordered_json to_json(const std::optional<MessageName>& message) {
  if (!message) return nullptr;
  return {{"payload", message->is_gradient ? "gradient" : "activation"},
          {"received", message->is_received},
          {"number", message->microbatch + 1},
          {"of", message->microbatches},
          {"stage", message->stage},
          {"chunk", message->chunk},
          {"peer_stage", message->peer_stage},
          {"peer_chunk", message->peer_chunk},
          {"peer_rank", message->peer_rank ? ordered_json(*message->peer_rank) : nullptr}};
}

ordered_json to_json(const CallSite& site) {
  if (site.empty()) return nullptr;
  ordered_json frames = ordered_json::array();
  for (const CallFrame& frame : site) frames.push_back(text_of(frame, true));
  return frames;
}

ordered_json to_json(const RankSlot& longest, const TraceHeader& header) {
  const SlotTotals& totals = longest.slot;
  const Slot& slot = totals.slot;
  const bool has_phase = longest.name.phase != Phase::unknown;
  return {{"rank", header.rank},
          {"process", header.process},
          {"ordinal", slot.ordinal},
          {"name", longest.name.text},
          {"phase", has_phase ? ordered_json(phase_names[static_cast<std::size_t>(longest.name.phase)]) : nullptr},
          {"message", to_json(longest.name.message)},
          {"cause", name_of(totals.cause)},
          {"send_peer", slot.send_peer},
          {"receive_peer", slot.receive_peer},
          {"bytes", slot.bytes},
          {"bubbles", totals.bubbles},
          {"idle", totals.idle.count()},
          {"median", totals.median.count()},
          {"stage", totals.said.stage},
          {"chunk", totals.said.chunk},
          {"call_site", to_json(totals.call_site)}};
}

// Of a rank.
ordered_json to_json(const std::optional<StageOfRank>& stage) {
  if (!stage) return nullptr;
  return {{"stage", stage->stage}, {"stages", stage->stages}, {"chunks", stage->chunks}};
}

ordered_json to_json(const std::vector<CommunicatorUse>& communicators) {
  ordered_json list = ordered_json::array();
  for (const CommunicatorUse& use : communicators)
    list.push_back({{"communicator", use.communicator},
                    {"name", use.name},
                    {"role", role_names[static_cast<std::size_t>(use.role)]}});
  return list;
}

// The slots are shares of this: beyond WEFT_TRACE_LIMIT there are no records of bubbles, but the total goes on.
Duration idle_of_slots(const RankSummary& rank) {
  if (rank.totals.records_left_out == 0) return rank.totals.idle;
  Duration idle{};
  for (const SlotTotals& slot : rank.slots) add_to(idle, slot.idle);
  return idle;
}

std::string groups_line(const GroupJoin& groups, std::uint64_t thinned_out) {
  if (groups.recorded == 0) return "";
  std::string line = formatted("groups: %llu recorded, %llu joined with those of the other ranks\n",
                               number(groups.recorded), number(groups.joined));
  for (std::size_t reason = 0; reason < groups.not_joined.size(); ++reason)
    if (groups.not_joined[reason] > 0)
      line += formatted("  %llu not: ", number(groups.not_joined[reason])) + unjoined_texts[reason] + "\n";
  if (thinned_out > 0)
    line += formatted("  %llu more became no record: communicators had too many in a second\n", number(thinned_out));
  return line;
}

ordered_json to_json(const GroupJoin& groups) {
  if (groups.recorded == 0) return nullptr;
  ordered_json reasons = ordered_json::object();
  for (std::size_t reason = 0; reason < groups.not_joined.size(); ++reason)
    reasons[unjoined_names[reason]] = groups.not_joined[reason];
  return {{"recorded", groups.recorded},
          {"joined", groups.joined},
          {"not_joined", reasons},
          {"not_looked_at", groups.not_looked_at}};
}

std::string clocks_lines(const RunClocks& clocks) {
  std::string text;
  for (const std::string& line : clock_lines(clocks)) text += (text.empty() ? "clocks: " : "  ") + line + "\n";
  return text;
}

// To be added to times of a clock, its namespaces' offsets taken off: then they are on the clock of the first rank.
ordered_json shifts_of(const ClockOffset& to_first, bool is_within_known) {
  ordered_json list = ordered_json::array();
  for (const ClockOffset::Knot& knot : to_first.knots())
    list.push_back({knot.time.time_since_epoch().count(), knot.ahead.count(),
                    is_within_known ? ordered_json(knot.within.count()) : nullptr});
  return list;
}

ordered_json to_json(const RunClocks& run) {
  ordered_json list = ordered_json::array();
  for (std::uint32_t number = 0; number < run.clocks().size(); ++number) {
    const PlacedClock& clock = run.clocks()[number];
    const bool by_messages = clock.by == PlacedBy::messages;
    const auto known = [&](auto value) { return by_messages ? ordered_json(value) : ordered_json(nullptr); };
    const bool by_wall_clock = clock.by == PlacedBy::wall_clock;
    list.push_back({{"name", run.hosts().clocks[number].name},
                    {"placed_by", placed_by_names[static_cast<std::size_t>(clock.by)]},
                    {"why", by_wall_clock ? without_messages_texts[static_cast<std::size_t>(clock.why)] : ""},
                    {"beside", clock.beside},
                    {"by_way_of", known(clock.by_way_of)},
                    {"ahead", clock.wall_ahead ? ordered_json(clock.wall_ahead->count()) : nullptr},
                    {"within", known(clock.within.count())},
                    {"most_within", known(clock.most_within.count())},
                    {"drift", known(clock.ahead.rate())},
                    {"drift_within", known(clock.ahead.rate_within())},
                    {"drift_low", known(clock.least_rate)},
                    {"drift_high", known(clock.most_rate)},
                    {"messages", clock.messages},
                    {"collectives", clock.collectives},
                    {"shift_rate", clock.to_first->rate()},
                    {"shifts", shifts_of(*clock.to_first, clock.beside == run.first())}});
  }
  return list;
}

// How many ranks, and what else there is to tell apart.
std::string size_of(const RunSummary& run) {
  std::set<std::int64_t> ranks;
  for (const RankSummary& rank : run.ranks) ranks.insert(rank.header.rank);
  const std::set<RankProcess> processes = processes_of(run);
  std::string line = formatted("%zu rank%s", ranks.size(), ranks.size() == 1 ? "" : "s");
  if (processes.size() != ranks.size()) line += formatted(", %zu processes (rank (process))", processes.size());
  if (run.ranks.size() != processes.size()) line += formatted(", %zu devices (rank/device)", run.ranks.size());
  return line;
}

// "a", "a and b", "a, b and c"
std::string enumerated(const std::vector<std::string>& names) {
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " and ") + names[i];
  return text;
}

// Of several: the numbers above are of all together.
std::string jobs_lines(const TraceSummary& total) {
  std::string lines;
  const auto has_variant = [](const JobTotals& job) { return !job.variant.empty(); };
  if (total.jobs.size() < 2 && std::none_of(total.jobs.begin(), total.jobs.end(), has_variant)) return lines;
  for (const JobTotals& job : total.jobs)
    lines +=
        formatted("job %u, %s: %llu units, %llu of them wrong, %.1f %% of the fill work\n", job.job,
                  printable(name_with_variant(job.name, job.variant)).c_str(), number(job.units),
                  number(job.units_wrong), 100 * milliseconds(job.filled) / std::max(milliseconds(total.filled), 1e-6));
  return lines;
}

// Those of all ranks, each once: a note says which rank has which.
std::string settings_of(const RunSummary& run) {
  std::vector<std::string> modes, jobs;
  const auto add = [](std::vector<std::string>& names, std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (const RankSummary& rank : run.ranks) {
    add(modes, printable(rank.header.mode));
    if (!rank.header.fill_job.empty()) add(jobs, printable(rank.header.fill_job));
  }
  if (modes.size() > 1) return ", modes " + enumerated(modes);
  return jobs.empty() ? ", mode " + modes.front() : ", filled with " + enumerated(jobs);
}

// "0", or "0?" where its numbers cannot be trusted.
std::string shown_name(const RankSummary& rank) {
  return rank.name + (rank.unsure ? "?" : "");
}

// That of a rank which has an iteration, and is not unsure.
Duration startup_length(const RankSummary& rank) {
  return rank.steady() && !rank.unsure ? rank.totals.startup->length : Duration::min();
}

// Without those that are unsure. Its start-up is the longest, as they are at the same time.
std::string total_row(const RunSummary& run, std::size_t width) {
  if (std::ranges::all_of(run.ranks, &RankSummary::unsure)) return "";
  RankSummary total = run.total;
  const auto fills = [](const RankSummary& rank) { return rank.header.mode != "observe"; };
  const auto filling = std::ranges::find_if(run.ranks, fills);
  total.header.mode = (filling == run.ranks.end() ? run.ranks.front() : *filling).header.mode;
  std::string startup = startup_seconds(total);
  if (total.steady()) startup = startup_seconds(*std::ranges::max_element(run.ranks, {}, startup_length));
  return row(width, "all", total, startup);
}

std::vector<std::string> all_notes(const RunSummary& run) {
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), run.notes_on_names.begin(), run.notes_on_names.end());
  return notes;
}

}  // namespace

std::string to_text(const RunSummary& run, const std::string& place) {
  std::string result = printable(place) + ": " + size_of(run);
  std::size_t width = 4;
  for (const RankSummary& rank : run.ranks) width = std::max(width, shown_name(rank).size());
  result += settings_of(run);
  if (const RecordText& stream = run.total.totals.fill_stream; !stream.empty() && stream != "plain")
    result += " in a hardware queue of its own (" + printable(stream) + ")";
  if (const RecordText& confinement = run.total.totals.fill_confinement; confinement == "green")
    result += ", confined by a green context";
  else if (confinement == "none")
    result += ", in kernels of any size that nothing confines";
  result += "\n\n";
  for (const std::string& sentence : sentences_of(run)) result += sentence + "\n";
  result += "\n" + std::string(width - 4, ' ') +
            "rank iterations median ms/it   idle % uncertain % conversion % start-up s   units   wrong   dropped "
            "forecast err. %  "
            "slowdown %\n";
  for (const RankSummary& rank : run.ranks) result += row(width, shown_name(rank), rank, startup_seconds(rank));
  result += total_row(run, width) + "\n" + startup_line(run.total) + left_out_line(run.total) + moved_line(run.total) +
            causes(run.total) + slowdown_line(run.total) + watching_line(run.total) + cpu_line(run) +
            jobs_lines(run.total.totals) + groups_line(run.groups, run.total.totals.groups_thinned_out) +
            clocks_lines(run.clocks);
  if (!run.longest.empty()) result += "most idle time (whole run):\n";
  Duration all{};
  for (const RankSummary& rank : run.ranks)
    if (!rank.unsure) add_to(all, idle_of_slots(rank));
  for (const RankSlot& longest : run.longest) result += slot_line(longest, run.ranks[longest.rank], all);
  for (const std::string& note : all_notes(run)) result += "note: " + note + "\n";
  return result;
}

std::string to_json(const RunSummary& run, const std::string& validation) {
  ordered_json ranks = ordered_json::array(), slots = ordered_json::array();
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    const RankSummary& rank = run.ranks[index];
    const TraceHeader& header = rank.header;
    ordered_json entry{{"rank", header.rank},
                       {"ranks", header.ranks},
                       {"device", header.device},
                       {"host", std::string_view(header.host)},
                       {"process", header.process},
                       {"mode", std::string_view(header.mode)},
                       {"fill_job", std::string_view(header.fill_job)}};
    entry.update(numbers(rank));
    entry["pipeline"] = to_json(rank.stage);
    entry["communicators"] = to_json(rank.communicators);
    entry["clock"] = run.clocks.hosts().traces[index].clock;
    ranks.push_back(std::move(entry));
  }
  for (const RankSlot& longest : run.longest) slots.push_back(to_json(longest, run.ranks[longest.rank].header));
  const ordered_json result{{"sentences", sentences_of(run)}, {"ranks", ranks},
                            {"total", numbers(run.total)},    {"groups", to_json(run.groups)},
                            {"clocks", to_json(run.clocks)},  {"validation", ordered_json::parse(validation)},
                            {"most_idle_slots", slots},       {"notes", all_notes(run)}};
  // ASCII only: then control characters beyond it are escaped, too.
  return result.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft
