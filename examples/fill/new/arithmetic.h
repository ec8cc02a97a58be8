// The computation for one record: on the GPU (@NAME@.cu), on the host to check it, and on Weft's simulated GPU
// (simulated.cpp).
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__ inline
#else
#define ON_BOTH inline
#endif

// The root of the mean square of so many numbers; 0 of none.
ON_BOTH float root_mean_square(const float* numbers, std::uint32_t count) {
  float sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += numbers[i] * numbers[i];
  return count == 0 ? 0 : sqrtf(sum / static_cast<float>(count));
}
