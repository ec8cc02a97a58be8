// A fill job that runs all the time, without regard to bubbles: the baselines that Weft is held against.
//
// Used by fill_loop (a process of its own: time slicing, MPS) and by low_priority_fill (a thread in the training
// process). One thread calls run(); everything else happens inside. Writes one line per unit, so that the work done in
// any span of time can be counted afterwards, also when the process is killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace measures {

struct ContinuousFill {
  std::string job;     // as in WEFT_FILL
  std::string report;  // file of lines "<end of unit, CLOCK_MONOTONIC ns> <1 right, 0 wrong, -1 not checked>"
  int device = 0;
  std::uint64_t memory = 0;  // bytes
  int free_multiprocessors = 0;
};

// Runs units one after the other on the lowest-priority stream of the device's primary context until `stop` says so, or
// the driver ends. `driver_library` is an open handle of libcuda. `ready`: is called when the first unit begins, for
// what is before it takes seconds where many processes begin at once. Returns "" or what went wrong, in one line.
std::string run(const ContinuousFill& fill, void* driver_library, const std::atomic<bool>& stop,
                const std::function<void()>& ready = {});

}  // namespace measures
