// The sections that show the run as it was: numbers, the timeline, ranks, waits, slots; see sections.h.
#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <numeric>
#include <set>

#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/report/sections.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

constexpr std::array unfilled_texts{
#define REASON(name, text) text,
#include "trace/unfilled.def"
#undef REASON
};

double milliseconds(Duration time) {
  return static_cast<double>(time.count()) / 1e6;
}

// Shares as in the rows of `weft summary`: of the steady part of the run where it is known.
PartOfRun shown_part(const RankSummary& rank) {
  return rank.steady().value_or(rank.whole());
}

std::string percent(bool known, double share) {
  return known ? formatted("%.2f %%", 100 * share) : "unknown";
}

// Those of one row of a table.
void add_slowdown(DataTable& table, const std::optional<SlowdownRecord>& slowdown) {
  const bool known = slowdown && slowdown->control != 0;
  table.row({"slowdown", known ? formatted("%+.2f %%", 100 * slowdown->estimate) : "unknown",
             known ? formatted("by filling, at most on any rank; %+.2f to %+.2f %%, budget %.3g %%",
                               100 * slowdown->low, 100 * slowdown->high, 100 * slowdown->budget)
                   : "by filling"});
}

std::string left_out_text(std::size_t count, const char* text) {
  return count == 0 ? "" : formatted("; %zu ", count) + text;
}

DataTable causes_table(const RankSummary& total, const std::vector<std::string>& causes) {
  DataTable table("causes");
  table.column("cause", format::words).column("% of the idle time", format::percent);
  Duration all{};
  for (const auto& [cause, idle] : total.idle_by_cause) add_to(all, idle);
  for (const std::string& cause : causes) table.row({cause, share_of(total.idle_by_cause.at(cause), all)});
  return table;
}

ordered_json rank_row(const ReportedRun& run, std::size_t trace, const std::vector<std::string>& causes) {
  const RankSummary& rank = run.rank(trace);
  const PartOfRun part = shown_part(rank);
  const TraceSummary& totals = rank.totals;
  const bool measured = is_measured(rank.header);
  const bool fills = rank.header.mode != "observe" || totals.filled > Duration{};
  const bool compared = totals.slowdown && totals.slowdown->control != 0;
  ordered_json row{rank.name + (rank.unsure ? "?" : ""),
                   printable(rank.header.host),
                   rank.header.device,
                   rank.stage ? ordered_json(rank.stage->stage) : nullptr,
                   totals.iterations,
                   totals.iterations > 0 ? ordered_json(totals.iteration_median.count()) : nullptr,
                   known_share(measured, part.idle_share()),
                   known_share(measured, part.uncertain_share()),
                   known_share(measured && fills, part.conversion()),
                   known_share(rank.forecast_error.has_value(), rank.forecast_error.value_or(0)),
                   rank.complete ? ordered_json(totals.dropped_records) : nullptr,
                   known_share(compared, compared ? totals.slowdown->estimate : 0)};
  for (const std::string& cause : causes) {
    const auto idle = rank.idle_by_cause.find(cause);
    const Duration time = idle == rank.idle_by_cause.end() ? Duration{} : idle->second;
    row.push_back(measured ? share_of(time, rank.whole().window) : nullptr);
  }
  return row;
}

// Of many units the ones with the most work.
ordered_json frontier_plot(const Frontier& frontier) {
  constexpr std::size_t most_units = 64;
  if (!frontier.missing.empty()) return {{"missing", frontier.missing}};
  std::vector<std::size_t> shown(frontier.units.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() > most_units) {
    std::ranges::stable_sort(shown, std::ranges::greater{},
                             [&](std::size_t unit) { return frontier.units[unit].median; });
    shown.resize(most_units);
  }
  DataTable table("work");
  table.column("of", format::words).column("work in an iteration, ms", format::time);
  table.column("% of iterations in which it is the longest", format::percent);
  for (const std::size_t unit : shown)
    table.row(
        {frontier.units[unit].name, frontier.units[unit].median.count(), share(frontier.units[unit].at_frontier)});
  return {{"title", "Work in an iteration, without its bubbles"},
          {"caption", formatted("Medians of %zu iterations; full width is an iteration, %.1f ms", frontier.iterations,
                                milliseconds(frontier.length)) +
                          left_out_text(frontier.units.size() - shown.size(), "more are not shown") + "."},
          {"whole", frontier.length.count()},
          {"marked", frontier.slowest ? ordered_json(frontier.units[*frontier.slowest].name) : nullptr},
          {"table", std::move(table).json()}};
}

// The matrix of all ranks where it can be looked at, else that of the stages.
ordered_json matrix_plot(const Report& report, bool by_rank) {
  std::vector<std::string> labels;
  for (std::size_t at = 0; at < (by_rank ? report.run->traces.size() : report.waits.stages); ++at)
    labels.push_back(by_rank ? label_of(*report.run, at) : formatted("stage %zu", at));
  DataTable table(by_rank ? "waits" : "waits-of-stages");
  table.labels("waits", labels).labels("for", labels);
  table.column("time, ms", format::time).column("bubbles", format::number);
  for (const WaitingPair& pair : by_rank ? report.waits.of_ranks : report.waits.of_stages)
    table.row({pair.waiting, pair.awaited, pair.time.count(), pair.bubbles});
  return {{"title", by_rank ? "Waiting, rank for rank: the row waits for the column"
                            : "Waiting, stage for stage: the row waits for the column"},
          {"table", std::move(table).json()}};
}

ordered_json pairs_plot(const Report& report) {
  constexpr std::size_t most_pairs = 20;
  const std::vector<WaitingPair>& pairs = report.waits.of_ranks;
  DataTable table("longest-waits");
  table.column("waits", format::words).column("for", format::words);
  table.column("time, ms", format::time).column("bubbles", format::number);
  for (std::size_t place = 0; place < std::min(pairs.size(), most_pairs); ++place)
    table.row({label_of(*report.run, pairs[place].waiting), label_of(*report.run, pairs[place].awaited),
               pairs[place].time.count(), pairs[place].bubbles});
  return {{"title", formatted("The longest waiting, of %zu pairs", pairs.size())}, {"table", std::move(table).json()}};
}

std::string spoken(Duration time) {
  return time < std::chrono::seconds(1) ? formatted("%.1f ms", milliseconds(time))
                                        : formatted("%.1f s", milliseconds(time) / 1e3);
}

std::string waiting_of_all(const Waits& waits) {
  std::string text = "All ranks together wait " + spoken(waits.peers) + " for a peer, " + spoken(waits.collectives) +
                     " in collectives, " + spoken(waits.others) + " for neither";
  if (waits.unknown > Duration{})
    text += "; of the first " + spoken(waits.unknown) + " for one that cannot be told, or that left no trace";
  return text + ".";
}

// A frame of Python that came with no package and not with Python itself: the training's own, as a rule.
bool is_own(const CallFrame& frame) {
  const auto lies_in = [&](const char* folder) { return frame.file.find(folder) != std::string::npos; };
  return frame.kind == FrameKind::python && !lies_in("/site-packages/") && !lies_in("/dist-packages/") &&
         !lies_in("/lib/python");
}

// The innermost frames, and the innermost ones of the training itself; without folders.
std::string called_by(const CallSite& site) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t shown = 0;
  for (std::size_t frame = 0, own = 0; frame < site.size(); ++frame) {
    if (frame >= most && (own >= most || !is_own(site[frame]))) continue;
    if (is_own(site[frame])) ++own;
    if (frame != 0) text += frame == shown + 1 ? " < " : " < ... < ";
    text += text_of(site[frame], false);
    shown = frame;
  }
  return text;
}

}  // namespace

std::vector<std::string> causes_of(const RunSummary& run) {
  std::vector<std::string> causes;
  for (const char* cause : cause_names)
    if (run.total.idle_by_cause.contains(cause)) causes.emplace_back(cause);
  return causes;
}

std::string label_of(const ReportedRun& run, std::size_t trace) {
  const RankSummary& rank = run.rank(trace);
  return (rank.stage ? formatted("stage %d · rank ", rank.stage->stage) : "rank ") + rank.name;
}

ordered_json headline_section(const Report& report) {
  const ReportedRun& run = *report.run;
  const RankSummary& total = run.summary().total;
  const PartOfRun part = shown_part(total);
  const bool measured = is_measured(total.header);
  std::int64_t expected = 0;
  std::set<std::int64_t> ranks;
  for (const RankSummary& rank : run.summary().ranks) {
    ranks.insert(rank.header.rank);
    if (!rank.unsure) expected = std::max<std::int64_t>(expected, rank.header.ranks);
  }
  DataTable numbers("numbers");
  numbers.column("number", format::words).column("value", format::words).column("of", format::words);
  numbers.row(
      {"idle", percent(measured, part.idle_share()), total.steady() ? "of the time after start-up" : "of the time"});
  numbers.row({"uncertain", percent(measured, part.uncertain_share()), "of the time: nobody could tell"});
  numbers.row(
      {"filled", report.gain.is_filled ? percent(measured, report.gain.conversion) : "nothing", "of the idle time"});
  add_slowdown(numbers, total.totals.slowdown);
  numbers.row(
      {"iteration",
       total.totals.iterations > 0 ? formatted("%.3f ms", milliseconds(total.totals.iteration_median)) : "unknown",
       formatted("median of %llu", number(total.totals.iterations))});
  numbers.row(
      {"dropped", total.complete ? formatted("%llu", number(total.totals.dropped_records)) : "unknown", "records"});
  numbers.row(
      {"ranks",
       formatted("%zu of %lld", ranks.size(),
                 static_cast<long long>(std::max<std::int64_t>(expected, static_cast<std::int64_t>(ranks.size())))),
       "left a trace here"});
  ordered_json section{{"id", "headline"}, {"title", "The run"}, {"table", std::move(numbers).json()}};
  if (DataTable causes = causes_table(total, causes_of(run.summary())); causes.size() > 0)
    section["causes"] = {{"title", "Idle time by cause (whole run)"}, {"table", std::move(causes).json()}};
  return section;
}

ordered_json timeline_section(const Report& report) {
  const Timeline& timeline = report.timeline;
  ordered_json section{{"id", "timeline"}, {"title", "One iteration, all stages"}};
  if (!timeline.missing.empty()) {
    section["missing"] = timeline.missing;
    return section;
  }
  std::vector<std::string> labels, kinds(std::begin(cause_names), std::end(cause_names));
  kinds.insert(kinds.end(), {"uncertain", "dark", "fill"});
  ordered_json rows = ordered_json::array();
  for (const TimelineRow& row : timeline.rows) {
    labels.push_back(label_of(*report.run, row.trace) + (row.why.empty() ? "" : " · " + row.why));
    rows.push_back({labels.back(), row.begin.count(), row.end.count()});
  }
  DataTable table("timeline");
  table.labels("rank", labels).labels("kind", kinds).column("begin, ms", format::time).column("end, ms", format::time);
  table.labels("waits for", timeline.names).labels("of", labels).column("sent at, ms", format::time);
  for (std::size_t at = 0; at < timeline.rows.size(); ++at)
    for (const TimelinePart& part : timeline.rows[at].parts)
      table.row({at, part.kind, part.begin.count(), part.end.count(),
                 part.kind < cause_names.size() ? ordered_json(part.name) : nullptr,
                 part.from ? ordered_json(*part.from) : nullptr,
                 part.sent ? ordered_json(part.sent->count()) : nullptr});
  section["caption"] =
      formatted("Iteration %llu, %.3f ms", number(timeline.iteration.number), milliseconds(timeline.length)) +
      (timeline.is_median ? ", of median length" : "") +
      ", from the first rank that begins it to the last that ends it; each row is a rank" +
      left_out_text(timeline.ranks_left_out, "ranks are not shown") +
      ". A bubble that is pointed at, or chosen with the arrow keys, shows by an arrow which rank it waited for, from "
      "the moment at which that one began to send.";
  section["rows"] = std::move(rows);
  section["length"] = timeline.length.count();
  section["notes"] = timeline.notes;
  section["table"] = std::move(table).json();
  return section;
}

ordered_json ranks_section(const Report& report) {
  const ReportedRun& run = *report.run;
  const std::vector<std::string> causes = causes_of(run.summary());
  DataTable table("ranks");
  for (const char* head : {"rank", "host"}) table.column(head, format::words);
  for (const char* head : {"GPU", "stage", "iterations"}) table.column(head, format::number);
  table.column("median ms/it", format::time);
  for (const char* head : {"idle %", "uncertain %", "conversion %", "forecast err. %"})
    table.column(head, format::percent);
  table.column("dropped", format::number).column("slowdown %", format::signed_percent);
  for (const std::string& cause : causes) table.column(cause + " %", format::percent);
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) table.row(rank_row(run, trace, causes));
  return {
      {"id", "ranks"},
      {"title", "Idle time of all ranks, by cause"},
      {"caption", std::string("How much of its time each rank waits") +
                      (run.summary().total.steady() ? ", after start-up; the single causes are of the whole run" : "") +
                      ". A rank that waits less than those beside it is slower than they are, or has more to do."},
      {"causes", causes},
      {"table", std::move(table).json()}};
}

ordered_json waits_section(const Report& report) {
  constexpr std::size_t most_ranks = 64;
  const Waits& waits = report.waits;
  ordered_json section{
      {"id", "waits"},
      {"title", "Who waits for whom, and where the delay starts"},
      {"caption",
       "Delay moves on from rank to rank, so who is waited for longest need not be the one that is late. It "
       "starts where the work is longest: the others wait for that stage, directly or through others. " +
           waiting_of_all(waits)},
      {"frontier", frontier_plot(report.frontier)}};
  const bool by_rank = report.run->traces.size() <= most_ranks;
  if (waits.of_ranks.empty())
    section["matrix"] = {{"missing", waits.peers > Duration{}
                                         ? "the ranks that were waited for have no traces here, or their communicators "
                                           "are not known on both sides"
                                         : "no bubble waited for a single peer"}};
  else if (!by_rank && waits.of_stages.empty())
    section["matrix"] = {{"missing", "the stages of the ranks are not known, and they are too many for a matrix"}};
  else
    section["matrix"] = matrix_plot(report, by_rank);
  if (!waits.of_ranks.empty()) section["pairs"] = pairs_plot(report);
  return section;
}

ordered_json slots_section(const Report& report) {
  ordered_json section{{"id", "slots"}, {"title", "Slots: what is waited for in each iteration"}};
  if (report.slots.empty()) {
    section["missing"] = "no bubble was recorded";
    return section;
  }
  DataTable table("slots");
  for (const char* head : {"rank", "waits for", "phase", "cause"}) table.column(head, format::words);
  table.column("bubbles", format::number).column("median ms", format::time).column("idle ms", format::time);
  for (const char* head : {"% of idle", "forecast err. %", "in forecast %", "filled %"})
    table.column(head, format::percent);
  const bool have_sites = std::any_of(report.slots.begin(), report.slots.end(), [](const ReportedSlot& reported) {
    return !reported.slot.slot.call_site.empty();
  });
  if (have_sites) table.column("called by", format::words);
  for (const ReportedSlot& reported : report.slots) {
    const SlotTotals& slot = reported.slot.slot;
    const Calibration& forecasts = reported.forecasts;
    ordered_json row{report.run->rank(reported.slot.rank).name,
                     reported.slot.name.text,
                     phase_names[static_cast<std::size_t>(reported.slot.name.phase)],
                     name_of(slot.cause),
                     slot.bubbles,
                     slot.median.count(),
                     slot.idle.count(),
                     share_of(slot.idle, report.idle_of_slots),
                     share_of(forecasts.error, forecasts.length),
                     share_of(static_cast<double>(forecasts.within), static_cast<double>(forecasts.count())),
                     share_of(reported.filled, slot.idle)};
    if (have_sites) row.push_back(called_by(slot.call_site));
    table.row(std::move(row));
  }
  section["caption"] = formatted("The %zu with the most idle time, of all ranks and of the whole run", table.size()) +
                       left_out_text(report.slots_left_out, "more are not shown") +
                       ". The head of a column sorts by it.";
  std::string unfilled;
  for (std::size_t reason = 0; reason < unfilled_reasons; ++reason)
    if (const std::uint64_t bubbles = report.run->summary().total.totals.unfilled[reason]; bubbles > 0)
      unfilled += (unfilled.empty() ? "Bubbles without fill work: " : "; ") +
                  formatted("%llu, because %s", number(bubbles), unfilled_texts[reason]);
  if (!unfilled.empty()) section["after"] = unfilled + ".";
  section["table"] = std::move(table).json();
  return section;
}

}  // namespace weft::report
