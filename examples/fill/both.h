// Arithmetic that nvcc compiles for the GPU and the host's compiler for the simulated one.
//
// Included by the headers with the arithmetic of the example fill jobs.
#pragma once

#ifdef __CUDACC__
#define FILL_BOTH __host__ __device__ inline
#else
#define FILL_BOTH inline
#endif

namespace fill {

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
