// Common to example fill jobs: how their kernels are launched, and how the threads of one share its work.
//
// Included by the job, by its kernels' GPU code, and not by the simulated GPU's.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fill {

struct Launch {
  int blocks = 0;  // at most
  cudaStream_t stream = nullptr;
};

// Of a block. Little work is spread over all blocks that there may be, with as few threads in each as do it, so that
// its kernel is short; much of it has full blocks.
inline int threads_for(const Launch& to, int items) {
  constexpr int fewest = 4, most = 256;
  int threads = fewest;
  while (threads < most && threads * to.blocks < items) threads *= 2;
  return threads;
}

inline int blocks_for(const Launch& to, int items) {
  const int threads = threads_for(to, items), wanted = (items + threads - 1) / threads;
  return wanted < to.blocks ? wanted : to.blocks;
}

// Calls launch() for ranges of `count` items: about so many of them, all of about the same size. Range: first, count.
template <class Range, class Launching>
void in_ranges(int count, double ranges, Launching launch) {
  const int launches = static_cast<int>(std::clamp(std::ceil(ranges), 1.0, 1.0 * count));
  const auto first_of = [&](int number) {
    return static_cast<int>(static_cast<std::int64_t>(count) * number / launches);
  };
  for (int number = 0; number < launches; ++number) {
    const int first = first_of(number);
    launch(Range{first, first_of(number + 1) - first});
  }
}

#ifdef __CUDACC__
// Threads stride over the items. Of one dimension.
__device__ inline int first_item() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
__device__ inline int stride() {
  return static_cast<int>(gridDim.x * blockDim.x);
}
#endif

}  // namespace fill
