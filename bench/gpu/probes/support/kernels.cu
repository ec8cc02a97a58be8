// The probes' kernels. Compiled by nvcc into a fat binary that gpu.cpp loads; sim_kernels.cpp has what they do on the
// simulated GPU. No kernel here may run for ever: each spin ends by itself after `limit` nanoseconds of the device.
#include "kernels.h"

using probe::BusyWords;
using probe::Counters;
using probe::SpinWords;

namespace {

__device__ uint64_t device_time() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// So many registers stay alive from fill() to drain(): they are read from a place that may change at any time, and the
// way in which they are used depends on a number that is known at drain() only.
template <int count>
struct LiveRegisters {
  uint32_t values[count];
  __device__ void fill(const volatile uint32_t* from) {
#pragma unroll
    for (int index = 0; index < count; ++index) values[index] = *from;
  }
  __device__ void drain(volatile uint32_t* to) {
    uint32_t mixed = static_cast<uint32_t>(clock64());
#pragma unroll
    for (int index = 0; index < count; ++index) mixed = (mixed ^ values[index]) * 2654435761U;
    if (mixed == 0) *to = mixed;
  }
};

// The last block that comes here in a launch; sets the counter back for the next launch.
__device__ bool is_last(uint32_t* counter) {
  if (atomicAdd(counter, 1) != gridDim.x - 1) return false;
  *counter = 0;
  __threadfence();
  return true;
}

__device__ void wait_until(uint64_t end) {
  while (device_time() < end) {
  }
}

// `done`: a word of the host to be set at the end, or null.
__device__ void busy(BusyWords* words, Counters* counters, uint32_t* done, uint64_t nanoseconds) {
  if (threadIdx.x == 0) {
    const uint64_t started = device_time();
    if (blockIdx.x == 0) words->started = started;
    wait_until(started + nanoseconds);
    if (is_last(&counters->left)) {
      if (done != nullptr) *static_cast<volatile uint32_t*>(done) = 1;
      words->ended = device_time();
    }
  }
  __syncthreads();
}

}  // namespace

// As a blocked kernel of NCCL: one thread of each block looks at a word, the others wait at a barrier; 96 registers.
extern "C" __global__ void __launch_bounds__(640, 1)
    probe_spin(SpinWords* words, Counters* counters, const uint32_t* release, uint64_t limit) {
  __shared__ volatile uint32_t source;
  LiveRegisters<90> registers;
  registers.fill(&source);
  if (threadIdx.x == 0) {
    const uint64_t started = device_time();
    if (is_last(&counters->arrived)) {
      *static_cast<volatile uint64_t*>(&words->started) = started;
      __threadfence_system();
    }
    bool released = false;
    while (!released && device_time() - started < limit) {
      released = *static_cast<const volatile uint32_t*>(release) != 0;
    }
    if (is_last(&counters->left)) {
      *static_cast<volatile uint64_t*>(&words->ended) = device_time();
      *static_cast<volatile uint32_t*>(released ? &words->seen : &words->timed_out) = 1;
      __threadfence_system();
    }
  }
  __syncthreads();
  registers.drain(&source);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    probe_busy(BusyWords* words, Counters* counters, uint32_t* done, uint64_t nanoseconds) {
  busy(words, counters, done, nanoseconds);
}

// Of 1024 threads: one block fits on a multiprocessor, and no block of NCCL's beside it, but small kernels do.
extern "C" __global__ void __launch_bounds__(1024, 1)
    probe_resident(BusyWords* words, Counters* counters, uint32_t* done, uint64_t nanoseconds) {
  __shared__ volatile uint32_t source;
  LiveRegisters<32> registers;
  registers.fill(&source);
  busy(words, counters, done, nanoseconds);
  registers.drain(&source);
}

// Work that needs the multiprocessors: products and sums in registers.
extern "C" __global__ void __launch_bounds__(256) probe_compute(float* sink, uint64_t iterations) {
  float values[8];
  for (int index = 0; index < 8; ++index) values[index] = static_cast<float>(threadIdx.x + index);
  for (uint64_t iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int index = 0; index < 8; ++index) values[index] = fmaf(values[index], 1.0000001F, 0.5F);
  }
  float sum = 0;
  for (int index = 0; index < 8; ++index) sum += values[index];
  if (sum == -1.0F) *sink = sum;
}

// Work that needs the memory: reads `words` of 16 bytes so many times.
extern "C" __global__ void __launch_bounds__(256)
    probe_stream(const float* from, float* sink, uint64_t words, uint64_t repeats) {
  const float4* input = reinterpret_cast<const float4*>(from);
  float sum = 0;
  for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
    for (uint64_t index = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < words; index += step) {
      const float4 value = __ldcg(&input[index]);
      sum += value.x + value.y + value.z + value.w;
    }
  }
  if (sum == -1.0F) *sink = sum;
}

// Counts the blocks that each multiprocessor ran; each stays for a while, so that the blocks spread.
extern "C" __global__ void __launch_bounds__(256)
    probe_where(uint32_t* blocks_of, uint32_t most, uint64_t nanoseconds) {
  if (threadIdx.x != 0) return;
  uint32_t multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor < most) atomicAdd(&blocks_of[multiprocessor], 1);
  wait_until(device_time() + nanoseconds);
}

// An effect that depends on every word before it and on the order of launches.
extern "C" __global__ void __launch_bounds__(256) probe_mix(uint32_t* words, uint64_t count, uint32_t factor) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t index = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < count; index += step) {
    words[index] = words[index] * factor + static_cast<uint32_t>(index);
  }
}

// Variables of each kind that a module may have, for module_variables.
extern "C" {
__device__ uint32_t probe_variable = 3;
__constant__ uint32_t probe_constant = 5;
static __device__ uint32_t probe_static_variable = 7;
}
extern "C" __global__ void __launch_bounds__(32) probe_variables(uint32_t* to) {
  if (threadIdx.x != 0) return;
  to[0] = probe_variable;
  to[1] = probe_constant;
  to[2] = probe_static_variable++;
}

// 4 KiB of local memory for each thread, more than a context has at first: its first launch makes the driver get some.
extern "C" __global__ void __launch_bounds__(32) probe_local_memory(uint32_t* to, uint32_t count) {
  uint32_t values[1024];
  for (uint32_t index = 0; index < 1024; ++index) values[index] = index * count;
  uint32_t at = count;
  for (uint32_t index = 0; index < count; ++index) at = values[at % 1024] + index;
  if (at == 1) *to = at;
}
