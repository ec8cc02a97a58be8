// How much wider a forecast has to be, to either side, than the quantiles of earlier lengths are, so that one bubble in
// ten is shorter than its low end and one in ten longer than its high one. Pure.
//
// Used by Slots, one for each table, at the end of each bubble that had a forecast. Lengths that go with each other do
// not hold what quantiles promise, which only shows when it is tried.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "detector/bubble.h"

namespace weft {

class Calibration {
 public:
  // The ends of a forecast of fewer lengths are the extremes of these, which hold less; soon there will be more.
  static constexpr std::uint32_t fewest_samples = 9;

  void learn(const Forecast& forecast, Duration length) {
    if (forecast.samples < fewest_samples) return;
    // Of a side without any width nothing would be told by its being wider.
    if (forecast.low < forecast.median) learn(low_, length < forecast.low);
    if (forecast.high > forecast.median) learn(high_, length > forecast.high);
  }
  Forecast apply(Forecast forecast) const {
    if (forecast.samples < fewest_samples) return forecast;
    forecast.low = std::max(forecast.median - scaled(forecast.median - forecast.low, low_), Duration{});
    forecast.high = forecast.median + scaled(forecast.high - forecast.median, high_);
    return forecast;
  }

 private:
  // Steps are in balance where one in ten is outside. Small ones: the width of some hundred bubbles counts. All slots
  // have one, so it may not become much less for one of them because others hold more.
  static void learn(double& width, bool outside) {
    constexpr double wanted = 0.1, step = 0.01, least = 0.75, most = 2;
    width = std::clamp(width * (1 + step * ((outside ? 1 : 0) - wanted)), least, most);
  }
  static Duration scaled(Duration length, double by) { return std::chrono::duration_cast<Duration>(length * by); }

  double low_ = 1, high_ = 1;
};

}  // namespace weft
