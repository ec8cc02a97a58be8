// The sentences on top of a report, from the numbers that stand below them; see report.h.
#include <algorithm>
#include <utility>

#include "trace/formatted.h"
#include "trace/report/report.h"
#include "trace/report/shown_numbers.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

// As people say it: a collective waits for the last rank that comes to it.
std::string spoken(const std::string& cause) {
  if (cause == "receive") return "messages of other ranks";
  if (cause == "send") return "ranks that do not take their messages yet";
  if (cause == "collective") return "collectives (the last rank to come)";
  if (cause == "host") return "the host";
  if (cause == "schedule") return "the schedule";
  return "something that is not known";
}

// "61.9 % of that for messages of other ranks, 37.9 % for collectives": the two largest of a twentieth and more.
std::string causes_of(const RankSummary& total) {
  std::vector<std::pair<Duration, std::string>> causes;
  Duration all{};
  for (const auto& [cause, idle] : total.idle_by_cause) {
    causes.emplace_back(idle, cause);
    add_to(all, idle);
  }
  std::ranges::sort(causes, std::ranges::greater{});
  std::string text;
  for (std::size_t place = 0; place < std::min<std::size_t>(causes.size(), 2); ++place) {
    const double share = milliseconds(causes[place].first) / std::max(milliseconds(all), 1e-9);
    if (share < 0.05) break;
    text += (text.empty() ? ": " : ", ") + formatted("%.0f %% of that ", 100 * share) + "for " +
            spoken(causes[place].second);
  }
  return text;
}

std::string idle_sentence(const Report& report) {
  const RankSummary& total = report.run->summary().total;
  if (!is_measured(total.header)) return "How long the GPUs wait is not known: bubbles were not measured.";
  if (total.window <= Duration{}) return "How long the GPUs wait is not known: the traces have no measured time.";
  const PartOfRun part = shown_part(total);
  std::string text = formatted("The GPUs wait for %.1f %% of the time", 100 * part.idle_share()) + causes_of(total);
  if (part.uncertain_share() > 0.01)
    text += formatted("; for another %.1f %% nobody could tell", 100 * part.uncertain_share());
  return text + ".";
}

// One card among those of its stage.
std::string rank_of(const WorkOfUnit& unit) {
  constexpr double most_of_them = 2.0 / 3;
  if (unit.rank.empty() || unit.of_rank < most_of_them) return "";
  return "; of its ranks rank " + unit.rank + formatted(" has the most work in %.0f %% of them", 100 * unit.of_rank);
}

std::string frontier_sentence(const Report& report) {
  const Frontier& frontier = report.frontier;
  if (!frontier.missing.empty()) return "Which stage makes the others wait is not known: " + frontier.missing + ".";
  const WorkOfUnit& longest = frontier.units[frontier.longest];
  const WorkOfUnit& next = frontier.units[frontier.next];
  const double length = milliseconds(frontier.length);
  if (frontier.slowest)
    return "The delay starts at " + longest.name + ": it works longest in " +
           formatted("%.0f %% of the iterations, %.1f ms of %.1f ms, %.1f ms longer than the next one",
                     100 * longest.at_frontier, milliseconds(longest.median), length,
                     milliseconds(longest.median - next.median)) +
           " (" + next.name + ")" + rank_of(longest) + ", and the others wait for it.";
  const std::string most = formatted("%.1f ms of %.1f ms", milliseconds(longest.median), length);
  const std::string then = next.name + formatted(" with %.1f ms", milliseconds(next.median));
  if (frontier.is_alike)
    return "No single one makes the others wait: those with the most work in an iteration, " + longest.name + " with " +
           most + " and " + then + ", are alike.";
  return "The delay starts at " + longest.name + " more often than elsewhere: it has the most work in an iteration (" +
         most + formatted("), and is the longest in %.0f %% of them; then comes ", 100 * longest.at_frontier) + then +
         ".";
}

std::string price_of(const RankSummary& total) {
  const std::optional<SlowdownRecord>& slowdown = total.totals.slowdown;
  if (!slowdown || slowdown->control == 0) return "; what it costs the training is not known yet";
  return formatted("; iterations became %+.2f %% longer on the rank where that is most (95 %% interval %+.2f to ",
                   100 * slowdown->estimate, 100 * slowdown->low) +
         formatted("%+.2f %%, budget %.3g %%)", 100 * slowdown->high, 100 * slowdown->budget);
}

std::string fill_sentence(const Report& report) {
  const FillGain& gain = report.gain;
  if (gain.is_filled)
    return formatted("Filling uses %.1f %% of the idle time, %.1f GPU hours in a day on %zu GPUs",
                     100 * gain.conversion, gain.hours_per_day, gain.ranks) +
           price_of(report.run->summary().total) + ".";
  const FillEstimate& estimate = report.estimate;
  if (!estimate.missing.empty()) return "It is not known how much filling would give: " + estimate.missing + ".";
  return formatted("Filling would use about %.0f %% of the idle time, %.1f GPU hours in a day",
                   100 * estimate.conversion, estimate.hours_per_day) +
         formatted(" on %zu GPUs", gain.ranks) + " (estimated for " + estimate.job + " with a slowdown budget of " +
         estimate.budget + ").";
}

}  // namespace

std::vector<std::string> sentences_of(const Report& report) {
  return {idle_sentence(report), frontier_sentence(report), fill_sentence(report)};
}

}  // namespace weft::report
