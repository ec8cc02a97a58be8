// The flags of weft simulate about iterations that differ: numbers of microbatches, evaluations, checkpoints.
//
// Used by weft simulate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/parse.h"
#include "sim/pipeline/world_options.h"

namespace weft::cli {

struct IterationFlags {
  std::vector<int> microbatches;  // none: the usual number of the schedule
  int ramp_up = 0, evaluate_every = 0, checkpoint_every = 0;
  std::optional<int> evaluation_microbatches;
  Duration checkpoint_time{1'000'000'000};
};

void add_iteration_flags(CLI::App& app, IterationFlags& flags);

// `usual`: microbatches, where the flags have none. Throws std::invalid_argument where the numbers do not go together.
void set_iterations(const IterationFlags& flags, int usual, pipeline::WorldOptions& world);

// "8", or "8, 16": of the iterations that train.
std::string list_of_microbatches(const pipeline::WorldOptions& world);

}  // namespace weft::cli
