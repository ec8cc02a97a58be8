// 1F1B on four GPUs of 20 GiB, for tests of memory in virtual time: 8 of parameters, 2 of reserve, a GiB for each
// microbatch. So 6, 7, 8 and 9 are left.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/model/simulation.h"

namespace weft::model {

inline constexpr std::uint64_t gib = 1ULL << 30;

inline SimulationOptions four_gpus(const std::vector<JobOptions>& jobs, int iterations = 30) {
  SimulationOptions options;
  options.slowdown_budget = Budget::unlimited;
  options.run.jobs = jobs;
  options.memory.gpu = 20 * gib;
  pipeline::WorldOptions& world = options.run.world;
  world.activations.bytes = {gib};
  world.schedule.microbatches = 8;
  world.iterations = iterations;
  return options;
}

}  // namespace weft::model
