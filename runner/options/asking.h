// Asks the machine the questions of answers.def: runs weft-check-probe, a process of its own with a limited time, and
// takes what it has found.
//
// Used by the weft command and by the process in which a fill job is tried; never by a training process, because the
// probe makes a context. Blocks for up to 20 s.
#pragma once

#include <string>

#include "runner/options/answers.h"

namespace weft {

inline constexpr const char* asking_program = "weft-check-probe";  // next to the other parts of Weft

// A variable of the probe: the CUDA ordinal of the GPU that is asked. Not set: the first one.
inline constexpr const char* asked_device = "WEFT_PROBE_DEVICE";

// `variables`: what the probe gets as its environment, and what the answers hold for. It dies with the calling thread.
// Throws std::runtime_error when there is no GPU, or it cannot be asked.
Answers ask_machine(const std::string& program, const Variables& variables);

// All that a probe writes into its end of a pipe, until it has closed that.
std::string read_all(int file);

}  // namespace weft
