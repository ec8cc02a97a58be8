// The lengths of bubbles and the units of jobs, as the dispatcher thread knows them, for threads of the main job to
// read: a rank offers them to a queue.
//
// Written by the dispatcher thread, read by any other one. Each number is right for itself; together they may be of two
// moments.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runner/policy/bubble_lengths.h"
#include "trace/record.h"

namespace weft {

class BubbleBoard {
 public:
  void set(const BubbleLengths& bubbles) {
    for (std::size_t step = 0; step < BubbleLengths::steps; ++step)
      idle_[step].store(bubbles.idle()[step], std::memory_order_relaxed);
  }
  BubbleLengths bubbles() const {
    BubbleLengths::Idle idle{};
    for (std::size_t step = 0; step < BubbleLengths::steps; ++step)
      idle[step] = idle_[step].load(std::memory_order_relaxed);
    return BubbleLengths(idle);
  }

  // Since the job of that number was added.
  void begin_units(std::uint32_t job) { units_[job].store(0, std::memory_order_relaxed); }
  void note_unit(std::uint32_t job) { units_[job].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t units(std::uint32_t job) const { return units_[job].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, BubbleLengths::steps> idle_{};
  std::array<std::atomic<std::uint64_t>, most_jobs> units_{};
};

}  // namespace weft
