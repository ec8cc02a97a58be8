// Puts slices that may overlap onto rows in which none do: a viewer pairs the begin of a slice with the next end in its
// row.
//
// Used by the writers of `weft export`. Pure. Slices may come in any order; in a row each one begins where the one
// before it has ended, or later.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "detector/time.h"

namespace weft {

class Lanes {
 public:
  // A trace that was tampered with could have them all at the same time.
  static constexpr std::size_t most = 64;

  // Which row, from 0; nothing: that many overlap already.
  std::optional<std::size_t> place(TimePoint begin, TimePoint end) {
    std::size_t lane = 0;
    while (lane < ends_.size() && begin < ends_[lane]) ++lane;
    if (lane == most) return std::nullopt;
    if (lane == ends_.size()) ends_.push_back(end);
    ends_[lane] = end;
    return lane;
  }

 private:
  std::vector<TimePoint> ends_;
};

}  // namespace weft
