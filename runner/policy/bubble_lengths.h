// How the idle time of a rank is spread over bubbles of different lengths: what it offers to the jobs of a queue.
//
// Added up by the session, read by the placement of jobs. Plain numbers, two steps for each power of two of
// nanoseconds. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "detector/time.h"

namespace weft {

class BubbleLengths {
 public:
  static constexpr std::size_t steps = 90;  // the last has all from ten hours on
  using Idle = std::array<std::uint64_t, steps>;

  BubbleLengths() = default;
  explicit BubbleLengths(const Idle& idle) : idle_(idle) {}

  void add(Duration length) {
    if (length > Duration{}) idle_[step_of(length)] += static_cast<std::uint64_t>(length.count());
  }
  const Idle& idle() const { return idle_; }  // nanoseconds in bubbles of each step
  bool is_known() const { return total() != 0; }
  // Of the idle time, in bubbles that are at least so long for certain.
  double share_of_at_least(Duration length) const {
    const std::uint64_t all = total();
    if (all == 0) return 0;
    const std::size_t first = length > Duration{} ? step_of(length) : 0;
    std::uint64_t longer = 0;
    for (std::size_t step = first; step < steps; ++step)
      if (step > first || least_of(step) >= static_cast<std::uint64_t>(length.count())) longer += idle_[step];
    return static_cast<double>(longer) / static_cast<double>(all);
  }

 private:
  std::uint64_t total() const {
    std::uint64_t all = 0;
    for (const std::uint64_t idle : idle_) all += idle;
    return all;
  }
  static std::size_t step_of(Duration length) {
    const auto count = static_cast<std::uint64_t>(length.count());
    const auto octave = static_cast<std::size_t>(std::bit_width(count) - 1);
    const bool is_upper_half = octave > 0 && (count >> (octave - 1) & 1U) != 0;
    return std::min(2 * octave + (is_upper_half ? 1 : 0), steps - 1);
  }
  static std::uint64_t least_of(std::size_t step) {
    const std::uint64_t octave = std::uint64_t{1} << (step / 2);
    return step % 2 == 0 ? octave : octave + octave / 2;
  }

  Idle idle_{};
};

}  // namespace weft
