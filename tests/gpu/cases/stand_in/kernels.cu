// GPU code of the stand-in NCCL: a kernel that takes as much of the GPU as NCCL's does, and spins. See kernels.h.
//
// Compiled with at most 96 registers per thread; the words it holds over the spin make it use about as many, so that a
// block has its multiprocessor nearly for itself. It always ends: the spin has a limit by the GPU's own clock.
#include "kernels.h"

namespace {

constexpr int spins_between_looks = 10000;  // at the abort word, as in NCCL: it is behind the bus

__device__ long long gpu_clock() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(640, 1) stand_in_receive(stand_in::Receive r) {
  extern __shared__ std::uint32_t unused[];
  const volatile std::uint32_t* state = r.state;
  std::uint32_t held[stand_in::held_words];
#pragma unroll
  for (int i = 0; i < stand_in::held_words; ++i) held[i] = state[i];
  if (threadIdx.x == 0) {
    const long long start = gpu_clock();
    if (blockIdx.x == 0 && r.record != nullptr) {
      r.record->started = start;
      __threadfence_system();
    }
    for (int spins = 1; gpu_clock() - start < r.length; ++spins)
      if (spins % spins_between_looks == 0 && *r.abort != 0) break;
  }
  __syncthreads();
  std::uint32_t damage = 0;
#pragma unroll
  for (int i = 0; i < stand_in::held_words; ++i) damage |= held[i];
  if (damage != 0) unused[threadIdx.x] = damage;  // never; but the compiler cannot know, and keeps the words
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int m = 0; m < r.messages; ++m)
    for (std::uint32_t i = first; i < static_cast<std::uint32_t>(r.message[m].words); i += stride)
      r.message[m].to[i] = stand_in::arriving(r.number, m, i) + damage;
  if (blockIdx.x == 0 && threadIdx.x == 0 && r.record != nullptr) {
    r.record->ended = gpu_clock();
    __threadfence_system();
  }
}

namespace stand_in {

cudaError_t prepare() {
  cudaFuncAttributes attributes{};
  const cudaError_t result = cudaFuncGetAttributes(&attributes, stand_in_receive);
  if (result != cudaSuccess) return result;
  return cudaFuncSetAttribute(stand_in_receive, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
}

cudaError_t launch(const Receive& receive, cudaStream_t stream) {
  int device = 0, capability = 0;
  cudaError_t result = cudaGetDevice(&device);
  if (result != cudaSuccess) return result;
  result = cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device);
  if (result != cudaSuccess) return result;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = blocks;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads_per_block);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = capability >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, stand_in_receive, receive);
}

}  // namespace stand_in
