// Arithmetic that nvcc compiles for the GPU and the host's compiler for the simulated one.
//
// Included by the headers with the arithmetic of the example fill jobs.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define FILL_BOTH __host__ __device__ inline
#else
#define FILL_BOTH inline
#endif

namespace fill {

// A number that looks random for each one (the last steps of SplitMix64).
FILL_BOTH std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

// Eight sums beside each other, which a host's compiler makes one vector of, in an order that never varies.
FILL_BOTH float dot(const float* a, const float* b, int count) {
  float sums[8] = {};
  int k = 0;
  for (; k + 8 <= count; k += 8)
    for (int lane = 0; lane < 8; ++lane) sums[lane] += a[k + lane] * b[k + lane];
  for (; k < count; ++k) sums[k % 8] += a[k] * b[k];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace fill
