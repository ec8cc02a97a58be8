// How the kernels of one unit are kept off the multiprocessors that stay free for NCCL.
//
// Used while a unit is made ready, on a thread of Weft's or in the fill probe. Throws SetUpError where the user's wish,
// or a bound on the time that NCCL may wait, cannot be kept.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/fill/fill_lane.h"
#include "runner/fill/graph_nodes.h"
#include "runner/options/confine.h"

namespace weft {

struct ConfineOptions {
  Confine wish = Confine::automatic;
  std::uint32_t max_blocks = 0;  // a kernel with no more leaves the reserved multiprocessors free by itself
  std::uint32_t reserved = 0;    // multiprocessors
  bool shared_gpu = false;       // by MPS
  bool bounds_lengths = true;    // not in a trial, beside which the training may run: lengths are no more than a guess
};

struct Confined {
  Confinement how = Confinement::job;
  CUcontext share = nullptr;           // of a green context
  std::uint32_t multiprocessors = 0;   // that it has
  std::string why_not;                 // no green context, although one was needed or wished for
  std::chrono::nanoseconds longest{};  // kernel that nothing confines
};

Confined confine(std::span<const WorkNode> nodes, const ConfineOptions& options, FillLane& lane);

// Where nothing holds back the larger grids of `nodes`, which take `lengths`, NCCL waits for the longest of them. It
// may be as long as a slice.
void take_lengths(std::span<const WorkNode> nodes, const std::vector<std::chrono::nanoseconds>& lengths,
                  std::chrono::nanoseconds slice_cap, const ConfineOptions& options, Confined& confined);

}  // namespace weft
