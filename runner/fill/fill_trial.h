// A trial run of a fill job in a process of its own, before the training process loads it: a job that crashes, hangs or
// computes nonsense does so there.
//
// Called on a thread of the core. No wait of the main job or of its launcher sees the trial (runner/fill/trial_guardian.h),
// and none of it is left when try_fill_job() returns.
#pragma once

#include <chrono>
#include <string>

#include "runner/fill/prepared_fill.h"

namespace weft {

// Runs `probe` (the program weft-fill-probe) with these settings. Returns "" when the job is sound, else one line that
// says what is wrong with it.
std::string try_fill_job(const std::string& probe, const FillSettings& settings, std::chrono::nanoseconds limit);

// What the probe has written into its pipe, read by the other side. Pure.
//   at <step>      about to do this
//   failed <text>  the job is not sound; last line
//   ok             the job is sound; last line
std::string verdict_of(const std::string& path, const std::string& transcript, bool timed_out,
                       std::chrono::nanoseconds limit);

}  // namespace weft
