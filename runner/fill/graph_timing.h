// How long graphs take on the idle GPU, launched back to back.
//
// Used while a fill job is prepared, on a thread of the main job or in the fill probe, with the context current, on a
// quiet device. Throws SetUpError.
#pragma once

#include <cuda.h>

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "runner/core/driver.h"
#include "runner/fill/fill_wait.h"

namespace weft {

struct TimingOptions {
  int repeats = 5;                                        // of each timing; the median counts
  std::chrono::nanoseconds patience = longest_fill_work;  // for one wait on the device
};

// Median time of each graph. A first pass warms up and does not count.
std::vector<std::chrono::nanoseconds> measure(const Driver& driver, std::span<const CUgraphExec> graphs,
                                              CUstream stream, const TimingOptions& options);
// Likewise, of the work that `enqueue` puts into the stream.
std::chrono::nanoseconds measure(const Driver& driver, const std::function<void()>& enqueue, CUstream stream,
                                 const TimingOptions& options);

}  // namespace weft
