// How much fill work of each kind the ranks of some trainings do: whole pipelines in virtual time, with Weft's own
// decisions on each rank.
//
// Used by bench_placement. Pure; equal seeds give equal numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/policy/bubble_lengths.h"

namespace weft::bench {

// Jobs of one kind have kernels of one length and need so much memory.
struct Kind {
  std::string name;
  Duration kernel{};
  std::uint64_t memory = 0;
};
std::vector<Kind> kinds();

struct Gpu {
  std::string training;
  std::uint64_t memory = 0;  // for a fill job
  BubbleLengths bubbles{};
  double iteration = 0;            // seconds
  std::vector<double> per_second;  // of each kind: seconds of fill work, while it has a job of it
};
std::vector<Gpu> gpus(std::uint64_t seed);

}  // namespace weft::bench
