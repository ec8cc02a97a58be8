// The entries of the matrices that the matrix-product fill job multiplies: small whole numbers, so that every product
// and sum is exact in float; and the sums by which a product is checked, exact too. For GPU code and the simulated
// GPU's.
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

// The check: with a vector s of small whole numbers, (A*B)*s must equal A*(B*s), row by row. That is quadratic work for
// a cubic result. A and B are made anew from the unit's number, so a matrix that somebody overwrote is found as well;
// every number stays below 2^53.
FILL_EVERYWHERE inline double weight(int column) {
  return static_cast<double>(column % 3 + 1);
}

// One entry of B*s.
FILL_EVERYWHERE inline double weighted_row_of_b(unsigned seed, int row, int size) {
  double sum = 0;
  for (int j = 0; j < size; ++j)
    sum += weight(j) * static_cast<double>(value_of_b(seed, static_cast<unsigned>(row * size + j)));
  return sum;
}

// Whether a row of c = A*B is right; `weighted` is B*s.
FILL_EVERYWHERE inline bool row_is_right(unsigned seed, const float* c, const double* weighted, int row, int size) {
  double got = 0, expected = 0;
  for (int j = 0; j < size; ++j) {
    const unsigned index = static_cast<unsigned>(row * size + j);
    got += weight(j) * static_cast<double>(c[index]);
    expected += static_cast<double>(value_of_a(seed, index)) * weighted[j];
  }
  return got == expected;
}

}  // namespace fill
