// See the header.
#include "trace/read/sentences.h"

#include <algorithm>
#include <map>
#include <optional>

#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/totals.h"

namespace weft {
namespace {

double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

std::string percent(double share) {
  return formatted("%.2f %%", 100 * share);
}

std::string counted(std::uint64_t count, const char* one, const char* more) {
  return formatted("%llu ", number(count)) + (count == 1 ? one : more);
}

PartOfRun shown_part(const RankSummary& rank) {
  return rank.steady().value_or(rank.whole());
}

std::string iteration_sentence(const RunSummary& run) {
  const TraceSummary& total = run.total.totals;
  if (total.iterations == 0) return "How long an iteration takes is unknown: none was found.";
  return formatted("An iteration takes %.3f ms, the median over ", milliseconds(total.iteration_median)) +
         counted(total.iterations, "iteration", "iterations") + " and all ranks.";
}

std::string waits(const std::string& cause) {
  if (cause == "receive") return "waits to receive";
  if (cause == "send") return "waits to send";
  if (cause == "collective") return "waits in collectives";
  if (cause == "host") return "waits for the host";
  if (cause == "schedule") return "said by the training";
  return "of unknown cause";
}

// Of the whole run, as the line of the causes is: those that make up nine tenths.
std::string causes(const RankSummary& total) {
  std::vector<std::pair<Duration, std::string>> sorted;
  Duration all{}, named{};
  for (const auto& [cause, idle] : total.idle_by_cause) {
    add_to(all, idle);
    sorted.emplace_back(idle, cause);
  }
  if (all <= Duration{})
    return total.totals.idle > Duration{} ? "; of which cause is unknown, as there are no bubbles in the traces" : "";
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.first; });
  std::string text = "; over the whole run";
  for (const auto& [idle, cause] : sorted) {
    if (static_cast<double>(named.count()) >= 0.9 * static_cast<double>(all.count())) break;
    const bool is_first = named == Duration{};
    text += formatted(is_first ? " %.1f %% of that is " : ", %.1f %% ", 100 * milliseconds(idle) / milliseconds(all)) +
            waits(cause);
    add_to(named, idle);
  }
  return text;
}

// Of those that count: of which the bubbles were measured, and which are sure.
std::vector<const RankSummary*> measured_ranks(const RunSummary& run) {
  std::vector<const RankSummary*> ranks;
  for (const RankSummary& rank : run.ranks)
    if (!rank.unsure && is_measured(rank.header)) ranks.push_back(&rank);
  return ranks;
}

std::string idle_sentence(const RunSummary& run) {
  const PartOfRun shown = shown_part(run.total);
  if (!is_measured(run.total.header))
    return "How idle the GPUs are is unknown: " + printable(run.total.header.idle_unknown) + ".";
  if (shown.window <= Duration{}) return "How idle the GPUs are is unknown: the traces span no time.";
  const std::size_t measured = measured_ranks(run).size();
  std::string text = "The GPUs are idle for " + percent(shown.idle_share()) + " of the time" +
                     (run.total.steady() ? " after start-up" : " of the whole run");
  if (measured < run.ranks.size())
    text += formatted(", on the %zu of %zu ranks where that is known", measured, run.ranks.size());
  return text + ", and for " + percent(shown.uncertain_share()) + " nobody could tell" + causes(run.total) + ".";
}

// A stage of all pipelines, or a rank.
struct Member {
  std::vector<std::string> ranks;  // their names
  PartOfRun sum;
  void add(const RankSummary& rank) {
    const PartOfRun part = shown_part(rank);
    ranks.push_back(rank.name);
    add_to(sum.window, part.window);
    add_to(sum.idle, part.idle);
    add_to(sum.uncertain, part.uncertain);
  }
  double highest_idle() const { return sum.idle_share() + sum.uncertain_share(); }
};
using Members = std::map<std::int32_t, Member>;

// Nothing: not all ranks are in pipelines with as many stages, or some stages left no trace.
std::optional<Members> stages_of(const std::vector<const RankSummary*>& ranks) {
  Members stages;
  for (const RankSummary* const rank : ranks) {
    if (!rank->stage || rank->stage->stages != ranks.front()->stage->stages) return std::nullopt;
    stages[rank->stage->stage].add(*rank);
  }
  if (ranks.empty() || stages.size() != static_cast<std::size_t>(ranks.front()->stage->stages)) return std::nullopt;
  return stages;
}

// The one with the least idle time, against the one with the least of the others.
struct Comparison {
  Members::const_iterator least, next;
  double most_idle = 0;

  explicit Comparison(const Members& members) : least(members.begin()), next(members.end()) {
    const auto idle = [](Members::const_iterator member) { return member->second.sum.idle_share(); };
    for (auto member = members.begin(); member != members.end(); ++member) {
      most_idle = std::max(most_idle, idle(member));
      if (idle(member) < idle(least)) least = member;
    }
    for (auto member = members.begin(); member != members.end(); ++member)
      if (member != least && (next == members.end() || idle(member) < idle(next))) next = member;
  }
  double least_idle() const { return least->second.sum.idle_share(); }
  double next_idle() const { return next->second.sum.idle_share(); }
  // By a point, and by a tenth: stages that are equally long differ by their jitter.
  bool is_clear() const { return next_idle() - least_idle() > std::max(0.01, 0.1 * next_idle()); }
  bool is_certain() const { return next_idle() > least->second.highest_idle(); }
};

std::string less_idle(const Comparison& found) {
  return percent(found.least_idle()) + ", the others for " + percent(found.next_idle()) + " and more";
}

// Where no pipeline is known.
std::string least_idle_rank(const std::vector<const RankSummary*>& ranks) {
  Members members;
  for (std::size_t index = 0; index < ranks.size(); ++index)
    members[static_cast<std::int32_t>(index)].add(*ranks[index]);
  if (members.size() < 2) return "";
  const Comparison found(members);
  if (!found.is_clear() || !found.is_certain()) return "";
  return "; rank " + found.least->second.ranks.front() + " is the least idle, for " + less_idle(found);
}

std::string stage_sentence(const RunSummary& run) {
  const std::vector<const RankSummary*> ranks = measured_ranks(run);
  const std::string unknown = "Which stage makes the others wait is unknown: ";
  const bool has_time = std::ranges::all_of(ranks, [](auto* rank) { return shown_part(*rank).window > Duration{}; });
  if (ranks.empty() || !has_time) return unknown + "idle time was not measured.";
  const std::optional<Members> stages = stages_of(ranks);
  if (!stages) {
    const bool any = std::ranges::any_of(ranks, [](auto* rank) { return rank->stage.has_value(); });
    const char* const why = any                        ? "not all stages are known"
                            : run.groups.recorded == 0 ? "there are no groups in the traces"
                                                       : "no pipeline was recognised";
    return unknown + why + least_idle_rank(ranks) + ".";
  }
  if (stages->size() < 2) return unknown + "there is one.";
  const Comparison found(*stages);
  if (!found.is_clear())
    return "No stage makes the others wait: they are idle for " + percent(found.least_idle()) + " to " +
           percent(found.most_idle) + " of the time.";
  if (!found.is_certain()) return unknown + "the uncertain time is longer than the difference between two stages.";
  return formatted("Stage %d (", found.least->first) + listed_ranks(found.least->second.ranks) +
         ") makes the others wait: it is idle for " + less_idle(found) + ".";
}

std::string price(const std::optional<SlowdownRecord>& slowdown) {
  if (!slowdown) return "; its cost is unknown, as no slowdown budget was kept";
  if (slowdown->control == 0) return "; its cost is unknown, as too few iterations went without fill";
  return formatted(", at a slowdown of at most %+.2f %% on any rank (95 %% interval %+.2f to %+.2f %%)",
                   100 * slowdown->estimate, 100 * slowdown->low, 100 * slowdown->high);
}

std::string filling_sentence(const RunSummary& run) {
  const TraceSummary& total = run.total.totals;
  const bool fills = std::ranges::any_of(run.ranks, [](auto& rank) { return rank.header.mode != "observe"; });
  if (!fills && total.filled <= Duration{}) return "Nothing was filled: Weft observed.";
  const PartOfRun shown = shown_part(run.total);
  const std::string units = counted(total.fill_units, "unit", "units") +
                            formatted(", %llu of them wrong", number(total.fill_units_wrong)) +
                            (total.filling_stopped ? "; filling was stopped on a rank" : "");
  if (!is_measured(run.total.header) || shown.window <= Duration{})
    return "How much of the idle time fill work took is unknown (" + units + ")" + price(total.slowdown) + ".";
  return formatted("Fill work took %.1f %% of the idle time (", 100 * shown.conversion()) + units + ")" +
         price(total.slowdown) + ".";
}

void add(std::string& list, const std::string& more) {
  list += (list.empty() ? "" : ", ") + more;
}

std::string missing_sentence(const RunSummary& run) {
  std::string missing;
  const auto count = [&](auto is_so) { return static_cast<std::uint64_t>(std::ranges::count_if(run.ranks, is_so)); };
  const std::uint64_t absent = missing_ranks(run), unsure = count([](auto&rank) { return rank.unsure; });
  const std::uint64_t cut = count([](auto& rank) { return !rank.complete; });
  const TraceSummary& total = run.total.totals;
  if (absent > 0) add(missing, counted(absent, "rank left no trace", "ranks left no trace"));
  if (unsure > 0) add(missing, counted(unsure, "rank is unsure", "ranks are unsure"));
  if (cut > 0) add(missing, counted(cut, "trace has no summary", "traces have no summary"));
  if (total.dropped_records > 0)
    add(missing, (run.total.complete ? "" : "at least ") +
                     counted(total.dropped_records, "record was dropped", "records were dropped"));
  if (total.records_left_out > 0)
    add(missing, counted(total.records_left_out, "record was", "records were") + " left out behind WEFT_TRACE_LIMIT");
  const std::size_t notes = run.notes.size() + run.notes_on_names.size();
  const std::string more = notes == 0 ? "." : "; " + counted(notes, "note", "notes") + " below.";
  if (missing.empty()) return "Nothing is known to be missing" + more;
  return "Missing: " + missing + more;
}

}  // namespace

std::vector<std::string> sentences_of(const RunSummary& run) {
  if (std::ranges::all_of(run.ranks, &RankSummary::unsure))
    return {"How long iterations take and how idle the GPUs are is unknown: something in each trace cannot be true.",
            missing_sentence(run)};
  return {iteration_sentence(run), idle_sentence(run), stage_sentence(run), filling_sentence(run),
          missing_sentence(run)};
}

}  // namespace weft
