// See policies.h.
#include "runner/model/policies.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "runner/model/baselines/baselines.h"
#include "runner/model/simulation.h"
#include "runner/model/weft_policy.h"

namespace weft::model {
namespace {

using Made = std::unique_ptr<Policy>;
using Make = Made (*)(const pipeline::World& world, int rank);

template <class One>
Made make(const pipeline::World& world, int rank) {
  return std::make_unique<One>(world, rank);
}

struct Baseline {
  std::string name;
  Make make;
};
const std::vector<Baseline>& list() {
  static const std::vector<Baseline> all{{"first-planner", make<FirstPlanner>},
                                         {"pipefill", make<PipeFill>},
                                         {"freeride", make<FreeRide>},
                                         {"gating", make<Gating>}};
  return all;
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

MakePolicy policy_of(const SimulationOptions& options) {
  if (options.policy == "weft" || options.policy == "observe") {
    SessionOptions session;
    session.fills = options.policy == "weft";
    session.slowdown_budget = options.slowdown_budget;
    return [session](const pipeline::World& world, int rank, RecordSink& records) {
      // Thousands of these live at once. The host waits at the end of each iteration.
      const std::size_t groups = world.groups_in_iteration(rank);
      SessionOptions own = session;
      own.detector.longest_period = std::max<std::size_t>(256, 4 * groups);
      own.detector.most_groups = std::bit_ceil(std::max<std::size_t>(256, 4 * groups));
      return std::make_unique<WeftPolicy>(own, records, world, rank);
    };
  }
  for (const Baseline& each : list())
    if (each.name == options.policy)
      return [make = each.make](const pipeline::World& world, int rank, RecordSink&) { return make(world, rank); };
  throw std::invalid_argument("there is no policy " + options.policy);
}

}  // namespace weft::model
