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

// "; over the whole run 61.9 % of the idle time is for messages of other ranks, 37.9 % for collectives": the two
// largest of a twentieth and more. The records tell no start-up from the rest.
std::string main_causes(const Report& report) {
  std::vector<std::pair<Duration, std::string>> causes;
  Duration all{};
  for (const auto& [cause, idle] : report.run->summary().total.idle_by_cause) {
    causes.emplace_back(idle, cause);
    add_to(all, idle);
  }
  std::ranges::sort(causes, std::ranges::greater{});
  std::string text;
  for (std::size_t place = 0; place < std::min<std::size_t>(causes.size(), 2); ++place) {
    const double share = milliseconds(causes[place].first) / std::max(milliseconds(all), 1e-9);
    if (share < 0.05) break;
    text += formatted(place == 0 ? "%.0f %% of the idle time is for " : ", %.0f %% for ", 100 * share) +
            spoken(causes[place].second);
  }
  if (text.empty()) return "";
  return (report.run->has_first_part_only()      ? "; over the first part of the run, which the traces hold, "
          : report.run->summary().total.steady() ? "; over the whole run "
                                                 : "; ") +
         text;
}

std::string idle_sentence(const Report& report) {
  const ReportedRun& run = *report.run;
  const RankSummary& total = run.summary().total;
  if (!is_measured(total.header)) return "How long the GPUs wait is not known: bubbles were not measured.";
  if (total.window <= Duration{}) return "How long the GPUs wait is not known: the traces have no measured time.";
  const PartOfRun part = total.shown();
  std::string text = formatted("The GPUs wait for %.1f %% of the time", 100 * part.idle_share()) +
                     (total.steady() ? " after start-up" : " of the whole run");
  const std::size_t ranks = run.traces.size() + missing_ranks(run.summary());
  if (report.gain.ranks < ranks)
    text += formatted(", on the %zu of %zu ranks where that is known", report.gain.ranks, ranks);
  if (part.uncertain_share() > 0.01)
    text += formatted(", and for another %.1f %% nobody could tell", 100 * part.uncertain_share());
  return text + main_causes(report) + ".";
}

// One card among those of its stage.
std::string rank_of(const WorkOfUnit& unit) {
  if (unit.rank.empty() || unit.of_rank < most_of_them) return "";
  return "; of its ranks rank " + unit.rank + formatted(" has the most work in %.0f %% of them", 100 * unit.of_rank);
}

// "246.0 ms", or "200.0 to 246.0 ms" where some time is uncertain.
std::string work_text(const WorkOfUnit& unit) {
  const std::string least = formatted("%.1f", milliseconds(unit.least)),
                    most = formatted("%.1f ms", milliseconds(unit.most));
  return most == least + " ms" ? most : least + " to " + most;
}

std::string lead_text(const WorkOfUnit& longest, const WorkOfUnit& next) {
  const bool is_exact = longest.uncertain <= 0 && next.uncertain <= 0;
  return (is_exact ? "" : "at least ") + formatted("%.1f ms longer", milliseconds(longest.least - next.most)) +
         " than the next one (" + next.name + ")";
}

// Where ranks are missing one of these may be slower than all others: then it is said of whom the sentence is.
std::string frontier_sentence(const Report& report) {
  const Frontier& frontier = report.frontier;
  if (!frontier.missing.empty()) return "Which stage makes the others wait is not known: " + frontier.missing + ".";
  if (frontier.lead == Lead::uncertain)
    return "Which stage makes the others wait cannot be told: " + uncertain_text(frontier) + ".";
  const bool all = frontier.has_all_ranks();
  const std::string compared = "O" + (compared_text(frontier) + " ").substr(all ? 0 : 1);
  const std::string end = all ? "." : "; the others may be slower.";
  const WorkOfUnit &longest = frontier.units[frontier.longest], &next = frontier.units[frontier.next];
  const std::string most = work_text(longest) + formatted(" of %.1f ms", milliseconds(frontier.length));
  const std::string often = formatted("%.0f %% of ", 100 * longest.at_frontier);
  if (frontier.lead == Lead::clear)
    return (all ? "The delay starts at " + longest.name + ": it works longest in "
                : compared + longest.name + " works longest: in ") +
           often + "the iterations, " + most + ", " + lead_text(longest, next) + rank_of(longest) +
           (all ? ", and the others wait for it" : "") + end;
  if (frontier.lead == Lead::alike)
    return (all ? "No single one makes the others wait: " : compared + "no single one works longest: ") +
           "those with the most work in an iteration, " + longest.name + " with " + most + " and " + next.name +
           " with " + work_text(next) + ", are alike" + end;
  if (frontier.lead == Lead::more_often)
    return (all ? "The delay starts at " + longest.name + " more often than elsewhere"
                : compared + longest.name + " works longest more often than others") +
           ": it has the most work in an iteration (" + most + "), and is the longest in " + often +
           "them; then comes " + next.name + " with " + work_text(next) + end;
  const WorkOfUnit& most_often = frontier.units[frontier.most_often];
  return (all ? "The delay does not start at one place: " : compared + "no single one works longest: ") + longest.name +
         " has the most work in the middle of all iterations (" + most + "), but " + most_often.name +
         formatted(" is the longest in more of them (%.0f %%)", 100 * most_often.at_frontier) + end;
}

std::string price_of(const RankSummary& total) {
  const std::optional<SlowdownRecord>& slowdown = total.totals.slowdown;
  if (!slowdown || slowdown->control == 0) return "; what it costs the training is not known yet";
  if (slowdown->is_of_something_else())
    return "; what it costs the training is not known: iterations with it were shorter, which is not its doing";
  return formatted("; iterations became %+.2f %% longer on the rank where that is most (95 %% interval %+.2f to ",
                   100 * slowdown->estimate, 100 * slowdown->low) +
         formatted("%+.2f %%, budget %.3g %%)", 100 * slowdown->high, 100 * slowdown->budget);
}

// "23.4 of the 96 GPU hours of a day"
std::string hours_text(double hours, std::size_t ranks) {
  return formatted("%.1f of the %zu GPU hours of a day on %zu GPU", hours, 24 * ranks, ranks) + (ranks == 1 ? "" : "s");
}

std::string fill_sentence(const Report& report) {
  const FillGain& gain = report.gain;
  if (gain.is_filled)
    return formatted("Filling uses %.1f %% of the idle time, ", 100 * gain.conversion) +
           hours_text(gain.hours_per_day, gain.ranks) + price_of(report.run->summary().total) + ".";
  const FillEstimate& estimate = report.estimate;
  if (!estimate.missing.empty()) return "It is not known how much filling would give: " + estimate.missing + ".";
  return formatted("Filling would use about %.0f %% of the idle time, ", 100 * estimate.conversion) +
         hours_text(estimate.hours_per_day, gain.ranks) + " (estimated" +
         (estimate.has_all_bubbles ? "" : " from part of the bubbles") + " for a job of " + estimate.job +
         " and a slowdown budget of " + estimate.budget + ").";
}

}  // namespace

std::vector<std::string> sentences_of(const Report& report) {
  return {idle_sentence(report), frontier_sentence(report), fill_sentence(report)};
}

}  // namespace weft::report
