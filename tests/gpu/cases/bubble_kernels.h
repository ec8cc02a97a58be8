// The compute of bubble_case.cpp: kernels of known length that say, by the GPU's clock, when they began and ended.
// bubble_kernels.cu is the GPU's version, sim_kernels.cpp what the simulated GPU does. Called on the one thread of the
// case.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace bubble_case {

constexpr int word_count = 16384;  // of the data that each stream works on, and of what is received

// When a kernel ran: nanoseconds of the GPU's clock. All zero before it has run.
struct Stamp {
  unsigned long long first_inverted;  // ~(start of its first block): a maximum of it is a minimum of the start
  unsigned long long last_start;      // start of its last block
  unsigned long long end;
};

struct Work {
  std::uint32_t* data;            // word_count, changed
  const std::uint32_t* received;  // word_count, read
  Stamp* stamp;                   // device memory
  std::int64_t length;            // each block takes so many nanoseconds
};

#if defined(__CUDACC__)
#define BUBBLE_CASE_BOTH __host__ __device__
#else
#define BUBBLE_CASE_BOTH
#endif
// One word's work. Any other order or number of applications gives other data.
BUBBLE_CASE_BOTH inline std::uint32_t worked(std::uint32_t data, std::uint32_t received) {
  const std::uint32_t x = (data ^ received) * 1664525U + 1013904223U;
  return x ^ (x >> 15);
}

cudaError_t work(const Work& work, cudaStream_t stream);
// Writes the GPU's clock to pinned host memory.
cudaError_t read_clock(std::int64_t* to, cudaStream_t stream);

}  // namespace bubble_case
