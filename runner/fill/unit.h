// One unit of a fill job, ready to run: its slices as instantiated, uploaded, warmed and timed graphs.
//
// Prepared on a thread of the main job inside the core's services, on a quiet device; afterwards the dispatcher thread
// only launches the graphs. Nothing here runs in a bubble except reading.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "runner/core/driver.h"
#include "runner/fill/fill_job.h"
#include "runner/fill/graph_timing.h"

namespace weft {

struct UnitOptions {
  std::chrono::nanoseconds slice_cap{300'000};
  std::uint32_t max_blocks = 0;
  TimingOptions timing;
};

struct Slice {
  CUgraphExec graph = nullptr;
  std::chrono::nanoseconds alone{};  // on the idle device, between slices that are launched back to back
};

class Unit {
 public:
  // Records, captures, checks, times and cuts one unit of `job`. Throws SetUpError.
  Unit(const Driver& driver, FillJob& job, CUstream stream, const UnitOptions& options);
  // Takes over slices that are ready.
  Unit(const Driver& driver, std::vector<Slice> slices) : driver_(driver), slices_(std::move(slices)) {}
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const std::vector<Slice>& slices() const { return slices_; }
  std::chrono::nanoseconds longest() const;  // slice

 private:
  const Driver& driver_;
  std::vector<Slice> slices_;
};

}  // namespace weft
