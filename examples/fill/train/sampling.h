// Which images a step takes, and with which weights a training begins: functions of the seed and of the number of the
// step alone, so they are the same in every run.
//
// Compiled for the GPU and the host; called by the kernels, and by train.cpp in init().
#pragma once

#include <cmath>
#include <cstdint>

#include "../both.h"
#include "network.h"

namespace train {

using fill::mixed;

// Where `place` of 0 to count - 1 goes in a permutation of those. A Feistel network permutes the numbers of an even
// count of bits; what it takes out of the range goes through it again until it is back in.
TRAIN_BOTH std::uint32_t permuted(std::uint32_t place, std::uint32_t count, std::uint64_t key) {
  std::uint32_t half = 1;
  while (half < 16U && (std::uint64_t{1} << (2U * half)) < count) ++half;
  const std::uint32_t mask = (1U << half) - 1U;
  do {
    std::uint32_t left = place >> half, right = place & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      const auto turned = static_cast<std::uint32_t>(mixed(key ^ (std::uint64_t{round} << 32U | right)));
      const std::uint32_t next = left ^ (turned & mask);
      left = right;
      right = next;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

// The image at this place of the stream of all epochs, each of which has every image once.
TRAIN_BOTH std::uint32_t image_at(std::uint64_t place, std::uint32_t images, std::uint64_t seed) {
  return permuted(static_cast<std::uint32_t>(place % images), images, mixed(mixed(seed) + place / images));
}

// Number `item` of all parameters, of one with so many inputs: spread evenly, so that a ReLU keeps the variance (He).
inline float initial_weight(std::uint64_t seed, std::uint64_t item, int inputs) {
  const double fraction = static_cast<double>(mixed(mixed(~seed) + item) >> 40U) / 16777216.0;
  return static_cast<float>((2.0 * fraction - 1.0) * std::sqrt(6.0 / inputs));
}

}  // namespace train
