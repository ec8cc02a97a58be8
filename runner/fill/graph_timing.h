// How long graphs take on the idle GPU, launched back to back.
//
// Used while a fill job is prepared, on a thread of the main job or in the fill probe, with the context current, on a
// quiet device. All functions throw SetUpError.
#pragma once

#include <cuda.h>

#include <chrono>
#include <span>
#include <vector>

#include "runner/core/driver.h"

namespace weft {

struct TimingOptions {
  int repeats = 5;                                    // of each timing; the median counts
  std::chrono::nanoseconds patience{20'000'000'000};  // for one wait on the device
};

// Median time of each graph. A first pass warms up and does not count.
std::vector<std::chrono::nanoseconds> measure(const Driver& driver, std::span<const CUgraphExec> graphs,
                                              CUstream stream, const TimingOptions& options);

// Waits until the stream has no work left; an error of the stream, and `patience` being over, are a SetUpError.
void wait_for(const Driver& driver, CUstream stream, std::chrono::nanoseconds patience);

}  // namespace weft
