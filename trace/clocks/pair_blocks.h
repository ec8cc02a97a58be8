// The time of a pair of clocks, cut into blocks that have some bounds of each kind, and gaps in which there are none.
//
// Used by pair_fit.cpp. Pure. A gap counts where it is much longer than a block and has blocks on both sides: a clock
// that steps there would pass for one that drifts, as no bound says when in that time it was.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "detector/time.h"
#include "trace/clocks/pair_bounds.h"
#include "trace/clocks/steady_rate.h"

namespace weft {

// A part of a list of bounds.
struct BoundRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

struct PairBlock {
  BoundRange most, least;
  TimePoint begin{}, end{};                   // where the next one begins
  double low = -most_rate, high = most_rate;  // rates between these are possible
  std::optional<double> room{};               // nanoseconds, that its bounds leave; nothing: they contradict each other

  bool is_gap() const { return most.size() == 0 && least.size() == 0; }
};

// One after the other, at least one; the first and the last are no gaps. `bounds` has some of each kind. Where bounds
// of a block contradict each other it is cut in two, as far as can be: little time is lost where a clock steps.
std::vector<PairBlock> pair_blocks(const PairBounds& bounds);

}  // namespace weft
