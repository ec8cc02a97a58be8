// Common to example fill jobs: how their kernels are launched, and how the threads of one share its work.
//
// Included by the job, by its kernels' GPU code, and not by the simulated GPU's.
#pragma once

#include <cuda_runtime_api.h>

namespace fill {

struct Launch {
  int blocks = 0;  // at most
  cudaStream_t stream = nullptr;
};

// Little work is spread over all multiprocessors, by small blocks.
inline int threads_for(const Launch& to, int items) {
  constexpr int few = 8, many = 32;
  return items <= few * to.blocks ? few : many;
}

inline int blocks_for(const Launch& to, int items) {
  const int threads = threads_for(to, items), wanted = (items + threads - 1) / threads;
  return wanted < to.blocks ? wanted : to.blocks;
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
