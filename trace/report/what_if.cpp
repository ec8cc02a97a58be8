// See the header.
#include "trace/report/what_if.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "trace/formatted.h"
#include "trace/names/slot_places.h"
#include "trace/report/frontier.h"
#include "trace/report/reported_run.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

// Of the messages of its iterations; 0: none is known. Iterations may differ: those that there are most of.
int microbatches_of(const ReportedRun& run, std::size_t trace) {
  const auto& shapes = run.named.places[trace]->iterations().shapes();
  const auto most = std::ranges::max_element(shapes, {}, &names::IterationShape::iterations);
  if (most == shapes.end()) return 0;
  for (const GroupName& group : run.named.names->groups(trace, static_cast<std::uint32_t>(most - shapes.begin())))
    for (const OperationName& operation : group.operations)
      if (operation.message) return operation.message->microbatches;
  return 0;
}

// Of all ranks that are in a pipeline; one pipeline may stand for all if they are of one kind.
struct Shapes {
  std::set<std::tuple<int, int, int>> kinds;  // stages, chunks, microbatches
  Duration idle{}, uncertain{}, window{};
};

Shapes shapes_of(const ReportedRun& run) {
  Shapes shapes;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    const std::optional<StageOfRank>& stage = run.rank(trace).stage;
    if (!run.counts(trace) || !stage) continue;
    const bool asked = stage->stage == 0 || shapes.kinds.empty();  // once for each pipeline
    if (const int microbatches = asked ? microbatches_of(run, trace) : 0; microbatches > 0)
      shapes.kinds.emplace(stage->stages, stage->chunks, microbatches);
    const PartOfRun part = run.rank(trace).shown();
    add_to(shapes.idle, part.idle);
    add_to(shapes.uncertain, part.uncertain);
    add_to(shapes.window, part.window);
  }
  return shapes;
}

double share(Duration part, Duration whole) {
  return whole > Duration{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::vector<OtherShape> other_shapes(const WhatIf& what_if) {
  std::vector<OtherShape> shapes;
  const auto add = [&](int microbatches, int chunks) {
    shapes.push_back({microbatches, chunks, bubble_of_theory(what_if.stages, microbatches, chunks)});
  };
  for (const int times : {1, 2, 4, 8}) add(times * what_if.microbatches, what_if.chunks);
  for (const int times : {2, 4}) add(what_if.microbatches, times * what_if.chunks);
  return shapes;
}

// The stages have to be the units of the frontier. Where a rank is missing the longest one may be another one.
void add_stage_times(WhatIf& what_if, const Frontier& frontier) {
  what_if.stages_missing = !frontier.missing.empty() ? frontier.missing
                           : frontier.units.size() != static_cast<std::size_t>(what_if.stages)
                               ? "the work of each stage is not known"
                           : frontier.lead == Lead::uncertain ? uncertain_text(frontier)
                                                              : "";
  if (!what_if.stages_missing.empty()) return;
  std::vector<double> work;
  for (const WorkOfUnit& unit : frontier.units) work.push_back(static_cast<double>(unit.most.count()));
  const auto iteration = [&](const std::vector<double>& times) {
    return iteration_of_theory(times, what_if.microbatches, what_if.chunks);
  };
  what_if.iteration = iteration(work);
  const double mean = std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(work.size());
  what_if.even = iteration(std::vector<double>(work.size(), mean));
  if (!frontier.has_all_ranks()) return;
  work[frontier.longest] = std::min(work[frontier.longest], work[frontier.next]);
  what_if.like_the_next_one = iteration(work);
}

}  // namespace

double bubble_of_theory(int stages, int microbatches, int chunks) {
  const double others = stages - 1;
  return others / (static_cast<double>(chunks) * microbatches + others);
}

bool is_below_theory(double waits, double theory) {
  constexpr double clearly = 0.8;
  return waits > 0 && waits < clearly * theory;
}

double iteration_of_theory(const std::vector<double>& work, int microbatches, int chunks) {
  const double longest = *std::ranges::max_element(work);
  const double others = std::accumulate(work.begin(), work.end(), 0.0) - longest;
  return longest + others / (static_cast<double>(chunks) * microbatches);
}

WhatIf find_what_if(const ReportedRun& run, const Frontier& frontier) {
  WhatIf what_if;
  const Shapes shapes = shapes_of(run);
  if (shapes.kinds.size() != 1) {
    what_if.missing = shapes.kinds.empty()
                          ? "theory needs the number of stages and microbatches, and no pipeline of a known schedule "
                            "was found in the groups of the traces"
                          : "the run has pipelines of several kinds";
    return what_if;
  }
  std::tie(what_if.stages, what_if.chunks, what_if.microbatches) = *shapes.kinds.begin();
  what_if.theory = bubble_of_theory(what_if.stages, what_if.microbatches, what_if.chunks);
  if (shapes.window > Duration{}) what_if.measured = share(shapes.idle, shapes.window);
  if (is_below_theory(share(shapes.idle + shapes.uncertain, shapes.window), what_if.theory)) {
    what_if.missing =
        formatted("the run waits for %.2f %% of the time, less than a 1F1B pipeline of %d stages",
                  100 * *what_if.measured, what_if.stages) +
        formatted(
            " and %d microbatches can (%.2f %%): its order is a zero-bubble one, or much of an iteration is other work",
            what_if.microbatches, 100 * what_if.theory);
    return what_if;
  }
  what_if.shapes = other_shapes(what_if);
  add_stage_times(what_if, frontier);
  return what_if;
}

}  // namespace weft::report
