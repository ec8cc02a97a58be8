// The entries of the matrices that the matrix-product fill job multiplies: small whole numbers, so that every product
// and sum is exact in float and the host can check results without rounding. For GPU and host code.
#pragma once

#ifdef __CUDACC__
#define FILL_EVERYWHERE __host__ __device__
#else
#define FILL_EVERYWHERE
#endif

namespace fill {

FILL_EVERYWHERE inline float value_of(unsigned key) {
  key ^= key >> 16U;
  key *= 0x7feb352dU;
  key ^= key >> 15U;
  key *= 0x846ca68bU;
  key ^= key >> 16U;
  return static_cast<float>(static_cast<int>(key % 7U) - 3);
}

FILL_EVERYWHERE inline float value_of_a(unsigned seed, unsigned index) {
  return value_of(seed * 2654435761U + 2U * index);
}
FILL_EVERYWHERE inline float value_of_b(unsigned seed, unsigned index) {
  return value_of(seed * 2654435761U + 2U * index + 1U);
}

}  // namespace fill
