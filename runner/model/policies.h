// The policies by name, in one list: what `--baselines` and tables go through.
#pragma once

#include <string>
#include <vector>

#include "runner/model/run.h"

namespace weft::model {

struct SimulationOptions;

// "weft", "observe" (Weft without a fill job) or a baseline. Throws std::invalid_argument where there is none of this
// name.
MakePolicy policy_of(const SimulationOptions& options);
// Those that Weft is compared with.
const std::vector<std::string>& baselines();
// The options of a run with this policy: some cut the fill work otherwise, or share the GPU with the training.
RunOptions run_options_of(const SimulationOptions& options);

}  // namespace weft::model
