// Numbers for the tests of this folder: small, of both signs, without an order.
#ifndef TESTS_SIM_CUDNN_SAMPLE_H
#define TESTS_SIM_CUDNN_SAMPLE_H

#include <cstddef>
#include <cstdint>
#include <vector>

inline std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((i * 37 + static_cast<size_t>(seed) * 11) % 17) / 8 - 1;
  return all;
}

#endif
