// GPU code of the bubble case; see bubble_kernels.h. The work takes its time by the clock, not by instructions: what
// runs beside it does not make it longer, so every bubble's length is known.
#include "bubble_kernels.h"

namespace {

constexpr int threads_per_block = 128;

__device__ unsigned long long gpu_clock() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

extern "C" {

__global__ void bubble_case_work(bubble_case::Work w) {
  const unsigned long long start = gpu_clock();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  w.data[i] = bubble_case::worked(w.data[i], w.received[i]);
  if (threadIdx.x != 0) return;
  while (static_cast<long long>(gpu_clock() - start) < w.length) {
  }
  atomicMax(&w.stamp->first_inverted, ~start);
  atomicMax(&w.stamp->last_start, start);
  atomicMax(&w.stamp->end, gpu_clock());
}

__global__ void bubble_case_clock(std::int64_t* to) {
  *to = static_cast<std::int64_t>(gpu_clock());
  __threadfence_system();
}

}  // extern "C"

namespace bubble_case {

cudaError_t work(const Work& work, cudaStream_t stream) {
  bubble_case_work<<<word_count / threads_per_block, threads_per_block, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t read_clock(std::int64_t* to, cudaStream_t stream) {
  bubble_case_clock<<<1, 1, 0, stream>>>(to);
  return cudaGetLastError();
}

}  // namespace bubble_case
