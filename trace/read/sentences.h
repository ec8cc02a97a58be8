// A run in plain sentences, for who reads no table: how long an iteration takes, how idle the GPUs are and why, which
// stage makes the others wait, how much filling gave at which cost, and how much of the run is missing.
//
// Used by `weft summary` and by tests, never inside the training process. Pure. Each number is that of the tables, in
// the same digits; one that is not known is called unknown.
#pragma once

#include <string>
#include <vector>

#include "trace/read/summary.h"

namespace weft {

// Printable; five at most.
std::vector<std::string> sentences_of(const RunSummary& run);

}  // namespace weft
