// See policies.h.
#include "runner/model/policies.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "runner/model/baselines/baselines.h"
#include "runner/model/simulation.h"
#include "runner/model/weft_policy.h"

namespace weft::model {
namespace {

using Made = std::unique_ptr<Policy>;
using Make = Made (*)(const pipeline::World& world, int rank, double knob);
using Prepare = void (*)(RunOptions& run, double knob);

template <class One>
Made make(const pipeline::World& world, int rank, double knob) {
  return std::make_unique<One>(world, rank, knob);
}

void as_they_are(RunOptions&, double) {}
// A step of a task is a unit.
void by_units(RunOptions& run, double) {
  run.slices = {Duration{}};
  for (const JobOptions& job : run.jobs)
    run.slices[0] = std::max(run.slices[0], std::accumulate(job.kernels.begin(), job.kernels.end(), Duration{}));
}
void beside(RunOptions& run, double part) {
  run.world.sharing = Mps::sharing(part);
}
void by_kernels(RunOptions& run, double kernels_of_piece) {
  run.slices = {Duration{}};
  run.world.sharing = LowPriority::sharing;
  run.world.kernels_of_piece = static_cast<int>(kernels_of_piece);
}

struct Baseline {
  std::string name;
  Make make;
  double knob;  // as published, see docs/bench.md
  Prepare prepare = as_they_are;
};
const std::vector<Baseline>& list() {
  static const std::vector<Baseline> all{{"first-planner", make<FirstPlanner>, FirstPlanner::usual_guard},
                                         {"pipefill", make<PipeFill>, PipeFill::usual_part},
                                         {"freeride", make<FreeRide>, FreeRide::usual_reserve, by_units},
                                         {"gating", make<Gating>, Gating::usual_poll},
                                         {"mps", make<AlwaysOn>, Mps::usual_part, beside},
                                         {"low-priority", make<AlwaysOn>, LowPriority::usual_kernels, by_kernels}};
  return all;
}

const Baseline* baseline_of(const std::string& name) {
  const auto found = std::ranges::find(list(), name, &Baseline::name);
  return found == list().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<std::string>& baselines() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const Baseline& each : list()) made.push_back(each.name);
    return made;
  }();
  return names;
}

RunOptions run_options_of(const SimulationOptions& options) {
  RunOptions run = options.run;
  if (const Baseline* const one = baseline_of(options.policy)) one->prepare(run, options.knob.value_or(one->knob));
  return run;
}

MakePolicy policy_of(const SimulationOptions& options) {
  if (options.policy == "weft" || options.policy == "observe") {
    SessionOptions session;
    session.fills = options.policy == "weft";
    session.slowdown_budget = options.slowdown_budget;
    session.spin = options.spin;
    session.dark = Budget::is_limit(options.slowdown_budget);
    return [session](const pipeline::World& world, int rank, RecordSink& records) {
      // Thousands of these live at once. The host waits at the end of each iteration.
      const std::size_t groups = world.groups_in_iteration(rank);
      SessionOptions own = session;
      own.detector.longest_period = std::max<std::size_t>(256, 4 * groups);
      own.detector.most_groups = std::bit_ceil(std::max<std::size_t>(256, 4 * groups));
      own.records_groups = world.tells_operations();
      return std::make_unique<WeftPolicy>(own, records, world, rank);
    };
  }
  if (const Baseline* const one = baseline_of(options.policy))
    return [make = one->make, knob = options.knob.value_or(one->knob)](const pipeline::World& world, int rank,
                                                                       RecordSink&) { return make(world, rank, knob); };
  throw std::invalid_argument("there is no policy " + options.policy);
}

}  // namespace weft::model
