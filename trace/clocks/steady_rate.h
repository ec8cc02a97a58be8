// How fast one clock may gain on another one, as long as it does so at a steady rate: the slopes of all straight lines
// that contradict no bound.
//
// Used by pair_fit.cpp. Pure.
#pragma once

#include <optional>
#include <span>

#include "trace/clocks/pair_bounds.h"

namespace weft {

// A share: 1e-6 is 1 ppm. Kernels set the rate of a clock by 500 ppm at most, so steady rates are not farther apart.
constexpr double most_rate = 1e-3;

struct SteadyRate {
  double low = 0, high = 0;
  double width = 0;  // nanoseconds: how much room the bounds leave, above the line with the most
};

// Nothing: each line contradicts some bound, so the clocks did not keep a rate. Bounds are in the order of their times,
// some of each.
std::optional<SteadyRate> steady_rate(std::span<const ClockBound> most, std::span<const ClockBound> least);

}  // namespace weft
