// See the header; the two ways to show the result are in comparison_text.cpp.
#include "trace/compare/comparison.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "trace/compare/comparison_notes.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

template <class HowFar, class Compare>
Change change_of(const std::optional<Measured<HowFar>>& first, const std::optional<Measured<HowFar>>& second,
                 Compare compare) {
  Change change;
  if (first) change.first = first->value;
  if (second) change.second = second->value;
  if (first && second && first->known && second->known) change.change = compare(*first->known, *second->known);
  return change;
}

// Uncertain time may have been idle, of any cause. So an interval reaches farther by it; where it has zero for that
// alone the change may be either way.
void widen(Change& change, const Change& uncertain) {
  if (!change.change) return;
  const bool had_zero = change.change->has_zero();
  const double before = uncertain.first.value_or(0), after = uncertain.second.value_or(0);
  change.change->low -= before;
  change.change->high += after;
  if (had_zero || !change.change->has_zero()) return;
  change.undecided = std::max(before, after);
  change.change.reset();
}

// `parts`: one of so many, of which the one that changed most is picked.
ComparedPart part_of(const std::string& name, const IterationNumbers& first, const IterationNumbers& second,
                     std::size_t parts = 1) {
  ComparedPart part;
  part.name = name;
  part.length = change_of(first.length, second.length, relative_change);
  part.mean = change_of(first.mean, second.mean, relative_change);
  const auto shares = [](const Known& before, const Known& after) { return difference(before, after); };
  part.uncertain = change_of(first.uncertain, second.uncertain, shares);
  const auto share = [&](const auto& before, const auto& after) {
    Change change = change_of(before, after, shares);
    widen(change, part.uncertain);
    return change;
  };
  Change picked = change_of(first.idle, second.idle, [parts](const Known& before, const Known& after) {
    return difference(before, after, parts);
  });
  widen(picked, part.uncertain);
  part.idle_differs = picked.change && !picked.change->has_zero();
  part.idle = share(first.idle, second.idle);
  part.of_no_cause = share(first.of_no_cause, second.of_no_cause);
  for (std::size_t cause = 0; cause < part.by_cause.size(); ++cause)
    part.by_cause[cause] = share(first.by_cause[cause], second.by_cause[cause]);
  return part;
}

// The ranks of both; none, with a note, where these are others.
std::vector<ComparedPart> ranks_of(const ComparedRun& first, const ComparedRun& second,
                                   std::vector<std::string>& notes) {
  std::vector<ComparedPart> parts;
  const auto before = rank_numbers(first.summary), after = rank_numbers(second.summary);
  if (!before || !after) {
    notes.push_back("processes share ranks: nothing is compared by rank");
    return parts;
  }
  for (const auto& [rank, index] : *before)
    if (const auto found = after->find(rank); found != after->end())
      parts.push_back(
          part_of("rank " + std::to_string(rank), first.ranks[index], second.ranks[found->second], before->size()));
  return parts;
}

// Ranks of `one` whose iterations the other run does not have.
std::vector<std::string> ranks_without_other(const ComparedRun& one, const ComparedRun& other) {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < one.ranks.size(); ++index) {
    const RankSummary& rank = one.summary.ranks[index];
    bool found = false;
    for (std::size_t i = 0; i < other.ranks.size(); ++i)
      found = found || (other.summary.ranks[i].header.rank == rank.header.rank && other.ranks[i].iterations > 0);
    if (one.ranks[index].iterations > 0 && !found) names.push_back(rank.name);
  }
  return names;
}

std::int64_t ranks_of_job(const ComparedRun& run) {
  std::int64_t ranks = 0;
  for (const RankSummary& rank : run.summary.ranks) ranks = std::max<std::int64_t>(ranks, rank.header.ranks);
  return ranks;
}

// One more or less lies at the ends of the run.
bool disagree_about_iterations(const ComparedRun& run) {
  std::size_t fewest = SIZE_MAX, most = 0;
  for (const IterationNumbers& numbers : run.ranks) {
    if (numbers.iterations == 0) continue;
    fewest = std::min(fewest, numbers.all);
    most = std::max(most, numbers.all);
  }
  return most > fewest + 1;
}

void forget_change(ComparedPart& part) {
  part.idle_differs = false;
  for (Change* const change : {&part.length, &part.mean, &part.idle, &part.uncertain, &part.of_no_cause})
    change->change.reset(), change->undecided.reset();
  for (Change& cause : part.by_cause) cause.change.reset(), cause.undecided.reset();
}

// Numbers over all ranks that are of other ranks, or of something else on each, tell nothing of a change.
void forget_of_other_ranks(ComparedPart& all, const ComparedRun& first, const ComparedRun& second,
                           std::vector<std::string>& notes) {
  const auto only_before = ranks_without_other(first, second), only_after = ranks_without_other(second, first);
  const bool same_job = ranks_of_job(first) == ranks_of_job(second);
  const bool parts_of_jobs = !same_job && first.ranks.size() == second.ranks.size();
  for (const auto& [name, other, only] : {std::tuple{"A", "B", &only_before}, std::tuple{"B", "A", &only_after}})
    if (same_job && !only->empty())
      notes.push_back(listed_ranks(*only) + " of " + name + " left no iteration in " + other +
                      ": changes over all ranks are unknown, and of its stage; the values of " + name + " have it in");
  if (parts_of_jobs)
    notes.push_back(formatted("the job of A has %lld ranks, that of B %lld",
                              static_cast<long long>(ranks_of_job(first)),
                              static_cast<long long>(ranks_of_job(second))) +
                    ", not all left a trace: changes over all ranks are unknown");
  if (parts_of_jobs || (same_job && !(only_before.empty() && only_after.empty()))) forget_change(all);
  for (const auto& [name, run] : {std::pair{"A", &first}, std::pair{"B", &second}}) {
    if (!disagree_about_iterations(*run)) continue;
    notes.push_back(std::string("the ranks of ") + name +
                    " disagree about the number of iterations: how much longer one takes over all ranks is unknown");
    all.mean.change.reset(), all.length.change.reset();
  }
}

// Those with iterations.
std::set<std::int64_t> ranks_of_stage(const ComparedRun& run, std::int32_t stage) {
  std::set<std::int64_t> ranks;
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    const RankSummary& rank = run.summary.ranks[index];
    if (rank.stage && rank.stage->stage == stage && run.ranks[index].iterations > 0) ranks.insert(rank.header.rank);
  }
  return ranks;
}

// Both have the same stages; on which ranks is that of the second. Of other ranks nothing is said of a change.
std::vector<ComparedPart> stages_of(const ComparedRun& first, const ComparedRun& second) {
  std::vector<ComparedPart> parts;
  for (const auto& [stage, numbers] : first.stages) {
    const auto found = second.stages.find(stage);
    if (found == second.stages.end()) return {};
    std::vector<std::string> names;
    for (const RankSummary& rank : second.summary.ranks)
      if (rank.stage && rank.stage->stage == stage) names.push_back(rank.name);
    parts.push_back(part_of(formatted("stage %d (", stage) + listed_ranks(names) + ")", numbers, found->second,
                            first.stages.size()));
    if (ranks_of_stage(first, stage) != ranks_of_stage(second, stage)) forget_change(parts.back());
  }
  return parts.size() == second.stages.size() ? parts : std::vector<ComparedPart>{};
}

// Traces of older versions do not tell when their process was started.
bool written_at_once(const TraceHeader& left, const TraceHeader& right) {
  const bool has_clock = left.wall_clock > Duration{};  // without one nothing tells them apart, and nothing is the same
  return has_clock && left.rank == right.rank && left.device == right.device && left.started == right.started &&
         left.wall_clock == right.wall_clock && left.boot == right.boot;
}

bool are_the_same(const RunSummary& first, const RunSummary& second) {
  for (const RankSummary& left : first.ranks)
    for (const RankSummary& right : second.ranks)
      if (left.header.process == right.header.process && left.header.host == right.header.host &&
          left.header.start_id == right.header.start_id &&
          (left.header.start_id != 0 || written_at_once(left.header, right.header)))
        return true;
  return false;
}

}  // namespace

RunComparison compare_runs(const ComparedRun& first, const ComparedRun& second) {
  if (are_the_same(first.summary, second.summary)) throw std::runtime_error("A and B are traces of the same run");
  RunComparison comparison;
  std::vector<std::string>& notes = comparison.notes;
  bool has_other_groups = false;
  comparison.all = part_of("", first.all, second.all);
  const std::size_t before = first.summary.ranks.size(), after = second.summary.ranks.size();
  const auto shape_before = shape_of(first.summary), shape_after = shape_of(second.summary);
  if (before != after)
    notes.push_back(formatted("other number of ranks: %zu in A, %zu in B; ", before, after) +
                    "nothing is compared by stage or rank");
  else if (shape_before != shape_after)
    notes.push_back("other schedule: A has " + text_of(shape_before) + ", B has " + text_of(shape_after) +
                    "; nothing is compared by stage");
  if (before == after) {
    comparison.ranks = ranks_of(first, second, notes);
    if (shape_before == shape_after) comparison.stages = stages_of(first, second);
    has_other_groups = note_other_groups(notes, first, second);
  }
  forget_of_other_ranks(comparison.all, first, second, notes);
  comparison.other_work = before != after || shape_before != shape_after || has_other_groups;
  note_headers(notes, first, second);
  for (const auto& [name, run] : {std::pair{"A", &first}, std::pair{"B", &second}}) {
    for (const std::string& loss : run->losses) notes.push_back(std::string(name) + ": " + loss);
    note_sample(notes, name, *run);
  }
  comparison.cautions = notes.size();
  if (before == after && shape_before == shape_after && comparison.stages.empty())
    notes.push_back("not all stages are known: nothing is compared by stage");
  note_iterations(notes, "A", first);
  note_iterations(notes, "B", second);
  for (const auto& [name, run] : {std::pair{"A", &first}, std::pair{"B", &second}})
    for (const std::string& note : run->summary.notes) notes.push_back(std::string(name) + ": " + note);
  return comparison;
}

}  // namespace weft
