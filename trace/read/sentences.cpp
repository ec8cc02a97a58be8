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
  if (cause == "schedule") return "bubbles that the training announced";
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
    text += formatted(is_first ? " %.1f %% of the idle time is " : ", %.1f %% ",
                      100 * milliseconds(idle) / milliseconds(all)) +
            waits(cause);
    add_to(named, idle);
  }
  return text;
}

// Of which the bubbles were measured, and which is sure.
bool counts(const RankSummary& rank) {
  return !rank.unsure && is_measured(rank.header);
}

std::string idle_sentence(const RunSummary& run) {
  const PartOfRun shown = run.total.shown();
  if (!is_measured(run.total.header))
    return "How idle the GPUs are is unknown: " + printable(run.total.header.idle_unknown) + ".";
  if (shown.window <= Duration{}) return "How idle the GPUs are is unknown: the traces span no time.";
  const auto measured = static_cast<std::size_t>(std::ranges::count_if(run.ranks, counts));
  std::string text = "The GPUs are idle for " + percent(shown.idle_share()) + " of the time" +
                     (run.total.steady() ? " after start-up" : " of the whole run");
  if (measured < run.ranks.size())
    text += formatted(", on the %zu of %zu ranks where that is known", measured, run.ranks.size());
  return text + ", and for " + percent(shown.uncertain_share()) + " nobody could tell" + causes(run.total) + ".";
}

// A stage of all pipelines, or a rank.
struct Member {
  std::int32_t number = 0;  // of the stage
  std::vector<const RankSummary*> ranks;
  PartOfRun sum;
  void add(const RankSummary& rank) {
    const PartOfRun part = rank.shown();
    ranks.push_back(&rank);
    add_to(sum.window, part.window);
    add_to(sum.idle, part.idle);
    add_to(sum.uncertain, part.uncertain);
  }
  double idle() const { return sum.idle_share(); }
  double highest_idle() const { return sum.idle_share() + sum.uncertain_share(); }
};
using Members = std::vector<Member>;
using Ranks = std::vector<const RankSummary*>;

// Nothing: not all ranks are in pipelines with as many stages, or some stages left no trace.
std::optional<Members> stages_of(const Ranks& ranks) {
  std::map<std::int32_t, Member> stages;
  for (const RankSummary* const rank : ranks) {
    if (!rank->stage || rank->stage->stages != ranks.front()->stage->stages) return std::nullopt;
    stages[rank->stage->stage].add(*rank);
  }
  if (ranks.empty() || stages.size() != static_cast<std::size_t>(ranks.front()->stage->stages)) return std::nullopt;
  Members members;
  for (auto& [number, stage] : stages) members.push_back(std::move(stage)), members.back().number = number;
  return members;
}

Members each_alone(const Ranks& ranks) {
  Members members(ranks.size());
  for (std::size_t index = 0; index < ranks.size(); ++index) members[index].add(*ranks[index]);
  return members;
}

// By a point, and by a tenth: stages that are equally long differ by their jitter.
bool differ(double less, double more) {
  return more - less > std::max(0.01, 0.1 * more);
}

// The members with the least idle time, and the others. Between them is the widest gap of those that begin in the
// lowest quarter of what lies between the least and the most idle one.
struct Comparison {
  Members members;
  std::size_t group = 1;  // so many of them, the least idle ones

  explicit Comparison(Members all) : members(std::move(all)) {
    std::ranges::stable_sort(members, {}, &Member::idle);
    const double lowest_quarter = least() + (most() - least()) / 4;
    const auto gap = [&](std::size_t below) { return members[below].idle() - members[below - 1].idle(); };
    for (std::size_t below = 2; below < members.size() && members[below - 1].idle() <= lowest_quarter; ++below)
      if (gap(below) > gap(group)) group = below;
  }
  double least() const { return members.front().idle(); }
  double most() const { return members.back().idle(); }
  double highest() const { return std::ranges::max_element(members, {}, &Member::highest_idle)->highest_idle(); }
  Members::const_iterator end() const { return members.begin() + static_cast<std::ptrdiff_t>(group); }
  bool are_alike() const { return !differ(least(), most()); }
  bool are_surely_alike() const { return !differ(least(), highest()); }
  bool is_clear() const { return group < members.size() && differ((end() - 1)->idle(), end()->idle()); }
  bool is_certain() const {
    return std::all_of(members.begin(), end(),
                       [&](const Member& member) { return member.highest_idle() < end()->idle(); });
  }
  Ranks ranks() const {
    Ranks all;
    for (auto member = members.begin(); member != end(); ++member)
      all.insert(all.end(), member->ranks.begin(), member->ranks.end());
    std::ranges::sort(all);  // as they lie in the run
    return all;
  }
};

// "5.00 %, the others for 25.00 % and more"
std::string less_idle(const Comparison& found) {
  const std::string least = percent(found.least()), last = percent((found.end() - 1)->idle());
  return (least == last ? least : least + " to " + last) + ", the others for " + percent(found.end()->idle()) +
         " and more";
}

std::string names(const Ranks& ranks) {
  std::vector<std::string> list;
  for (const RankSummary* const rank : ranks) list.push_back(rank->name);
  return listed_ranks(list);
}

// "Rank 3", "Ranks 0, 1"
std::string ranks_of(const Ranks& ranks, const char* one, const char* more) {
  return (ranks.size() == 1 ? one : more) + names(ranks).substr(std::string("rank").size());
}

std::string make_others_wait(const Comparison& found, bool one) {
  return (one ? " makes the others wait: it is idle for " : " make the others wait: they are idle for ") +
         less_idle(found) + ".";
}

// Where no pipeline is known.
std::string least_idle_rank(const Ranks& ranks) {
  if (ranks.size() < 2) return "";
  const Comparison found(each_alone(ranks));
  if (!found.is_clear() || !found.is_certain()) return "";
  const Ranks least = found.ranks();
  return "; " + ranks_of(least, "rank", "ranks") + (least.size() == 1 ? " is" : " are") + " the least idle, for " +
         less_idle(found);
}

// The numbers of the stages that these ranks are; nothing: of one of them some ranks are not among these.
std::optional<std::vector<std::int32_t>> whole_stages(const Members& stages, const Ranks& ranks) {
  std::vector<std::int32_t> numbers;
  std::size_t count = 0;
  for (const Member& stage : stages) {
    if (!std::ranges::all_of(stage.ranks, [&](auto* rank) { return std::ranges::find(ranks, rank) != ranks.end(); }))
      continue;
    numbers.push_back(stage.number);
    count += stage.ranks.size();
  }
  return count == ranks.size() ? std::optional(numbers) : std::nullopt;
}

std::string those_that_make_wait(const Comparison& found, const Members& stages) {
  const Ranks ranks = found.ranks();
  const auto numbers = whole_stages(stages, ranks);
  if (!numbers) return ranks_of(ranks, "Rank", "Ranks") + make_others_wait(found, ranks.size() == 1);
  std::string text = numbers->size() == 1 ? "Stage" : "Stages";
  for (std::size_t index = 0; index < numbers->size(); ++index)
    text += (index == 0 ? " " : index + 1 < numbers->size() ? ", " : " and ") + std::to_string((*numbers)[index]);
  return text + " (" + names(ranks) + ")" + make_others_wait(found, numbers->size() == 1);
}

// The ranks of a stage that differ: an average of theirs would hide it.
const Member* differing(const Members& stages) {
  const auto found = std::ranges::find_if(
      stages, [](const Member& stage) { return !Comparison(each_alone(stage.ranks)).are_alike(); });
  return found == stages.end() ? nullptr : &*found;
}

// Behind "which stage it is, is unknown: ".
std::string why_no_stages(const RunSummary& run, const Ranks& ranks, const Ranks& left_out) {
  const std::vector<std::string> missing = names_of_missing_ranks(run);
  const std::string absent = missing.empty()                       ? ""
                             : missing_ranks(run) > missing.size() ? ", as ranks left no trace"
                                                                   : ", as " + listed_ranks(missing) + " left no trace";
  Ranks without;
  for (const RankSummary* const rank : ranks)
    if (!rank->stage) without.push_back(rank);
  if (run.groups.recorded == 0) return "there are no groups in the traces";
  if (without.size() == ranks.size()) return "no pipeline was recognised" + absent;
  if (!without.empty()) return "the stage of " + names(without) + " is not known" + absent;
  if (std::ranges::any_of(ranks, [&](auto* rank) { return rank->stage->stages != ranks.front()->stage->stages; }))
    return "pipelines have other numbers of stages";
  if (!left_out.empty()) return "idle time is not known on " + names(left_out);
  return "not all stages are known" + absent;
}

std::string stage_sentence(const RunSummary& run) {
  const std::string unknown = "Which stage makes the others wait is unknown: ";
  Ranks ranks, left_out;
  for (const RankSummary& rank : run.ranks)
    (counts(rank) && rank.shown().window > Duration{} ? ranks : left_out).push_back(&rank);
  if (ranks.empty()) return unknown + "idle time was not measured.";
  const std::optional<Members> stages = stages_of(ranks);
  if (!stages) return unknown + why_no_stages(run, ranks, left_out) + least_idle_rank(ranks) + ".";
  if (stages->size() < 2) return unknown + "there is one.";
  const Member* const uneven = differing(*stages);
  const Comparison found(uneven == nullptr ? *stages : each_alone(ranks));
  const std::string range = percent(found.least()) + " to " + percent(found.most());
  if (found.are_surely_alike()) return "No stage makes the others wait: they are idle for " + range + " of the time.";
  if (found.are_alike() || (found.is_clear() && !found.is_certain()))
    return unknown + "the uncertain time is longer than the difference between two " +
           (uneven == nullptr ? "stages." : "ranks.");
  if (found.is_clear()) return those_that_make_wait(found, *stages);
  if (uneven == nullptr) return unknown + "they are idle for " + range + " of the time, with no gap between them.";
  const Comparison within(each_alone(uneven->ranks));
  return unknown + "the ranks of a stage differ, those of stage " + std::to_string(uneven->number) + " are idle for " +
         percent(within.least()) + " to " + percent(within.most()) + " of the time.";
}

std::string price(const std::optional<SlowdownRecord>& slowdown) {
  if (!slowdown) return "; its cost is unknown, as no slowdown is recorded";
  if (slowdown->control == 0) return "; its cost is unknown, as too few iterations went without fill";
  if (slowdown->is_of_something_else())
    return "; its cost is unknown, as iterations with fill were shorter, which is not its doing";
  return formatted(", at a slowdown of at most %+.2f %% on any rank (95 %% interval %+.2f to %+.2f %%)",
                   100 * slowdown->estimate, 100 * slowdown->low, 100 * slowdown->high);
}

// "the fill job was refused on rank 2 (no room)"; "": on none. The notes have all reasons.
std::string refusals(const RunSummary& run) {
  std::vector<std::string> names;
  std::string why;
  bool is_only_reason = true;
  for (const RankSummary& rank : run.ranks) {
    if (rank.refused.jobs == 0) continue;
    if (names.empty()) why = rank.refused.why;
    is_only_reason = is_only_reason && rank.refused.why == why;
    names.push_back(rank.name);
  }
  if (names.empty()) return "";
  const bool one = std::ranges::all_of(run.ranks, [](auto& rank) { return rank.refused.jobs < 2; });
  return std::string(one ? "the fill job was" : "fill jobs were") + " refused on " +
         (names.size() == run.ranks.size() ? "all ranks" : listed_ranks(names)) + " (" +
         (why.empty() ? "no reason is recorded" : why) + (is_only_reason ? "" : ", and other reasons") + ")";
}

std::string filling_sentence(const RunSummary& run) {
  const TraceSummary& total = run.total.totals;
  const bool fills = std::ranges::any_of(run.ranks, [](auto& rank) { return rank.header.mode != "observe"; });
  if (!fills && total.filled <= Duration{}) return "Nothing was filled: Weft observed.";
  const std::string refused = refusals(run);
  if (!refused.empty() && total.filled <= Duration{} && total.fill_units == 0)
    return "Nothing was filled: " + refused + ".";
  const PartOfRun shown = run.total.shown();
  const std::string units =
      counted(total.fill_units, "unit", "units") + formatted(", %llu of them wrong", number(total.fill_units_wrong)) +
      (total.filling_stopped ? "; filling was stopped on a rank" : "") + (refused.empty() ? "" : "; " + refused);
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
  const std::uint64_t unmeasured = count([](auto& rank) { return !rank.unsure && !is_measured(rank.header); });
  if (unmeasured > 0) add(missing, "the idle time of " + counted(unmeasured, "rank", "ranks"));
  const LostLines& lost = run.lost_lines;
  if (lost.broken_files > 0)
    add(missing, "the rest of " + counted(lost.broken_files, "trace", "traces") + " that could not be read");
  if (lost.unreadable > 0) add(missing, counted(lost.unreadable, "line is not readable", "lines are not readable"));
  if (lost.too_long > 0) add(missing, counted(lost.too_long, "line is too long", "lines are too long"));
  if (lost.bubbles > 0) add(missing, counted(lost.bubbles, "bubble's line is lost", "bubbles' lines are lost"));
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
