// A trial run of a fill job in a process of its own, before the training process loads it: a job that crashes, hangs or
// computes nonsense does so there.
//
// Called on a thread of the core. No wait of the main job or of its launcher sees the trial
// (runner/fill/trial_guardian.h), and none of it is left when try_fill_job() returns.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runner/fill/prepared_fill.h"
#include "runner/fill/trial_verdict.h"
#include "runner/options/variables.h"

namespace weft {

// The program weft-fill-probe and its environment: that of the main job, without Weft.
struct ProbeProgram {
  ProbeProgram(std::string file, const Variables& variables);

  std::string path;
  std::vector<std::string> environment;
};

// Runs the probe with these settings. Nothing: it was ended because `stop` was set.
std::optional<TrialVerdict> try_fill_job(const ProbeProgram& probe, const FillSettings& settings, Duration limit,
                                         const std::atomic<bool>& stop);

// From what the probe has written to its descriptor 3. Pure.
//   at <step>              about to do this
//   found <letters>        what the machine has answered, see letters_of()
//   prepared <nanoseconds> so long it took to make the job ready
//   movable <bytes>        of its device memory it has marked so many (between_bubbles_on_host)
//   lacks memory           a failure follows because the job asked for more device memory than the cap
//   failed <text>          the job is not sound; last line
//   ok                     the job is sound; last line
// Its words and its end before the first step say nothing about the job: such a verdict is local.
TrialVerdict verdict_of(const std::string& path, const std::string& transcript, bool timed_out, Duration limit);

}  // namespace weft
