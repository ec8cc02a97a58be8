// See remaining.h.
#include "runner/policy/remaining.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runner/policy/seconds.h"

namespace weft {
namespace {

// A forecast's low and high quantiles, 10 and 90 %, lie so many standard deviations from the median.
constexpr double deviations = 1.2815515655446004;
// Few samples look more alike than they are, and words are seen a moment late.
constexpr double least_spread = 0.005;  // of the median
constexpr double least_deviation = 20e-6;
// The extremes of two lengths lie 0.56 standard deviations from their middle on average, of three 0.85, of five 1.16;
// of nine and more the quantiles are what they are called.
constexpr std::uint32_t enough_samples = 9;

}  // namespace

Remaining::Remaining(const std::optional<Forecast>& forecast, Duration open_for)
    : age_(seconds(std::max(open_for, Duration{}))), scale_(seconds(scale_without_forecast)) {
  if (forecast && forecast->median > Duration{}) {
    median_ = scale_ = seconds(forecast->median);
    const double least = std::max(least_deviation, least_spread * median_);
    const double wider = forecast->samples < enough_samples ? 1 + 3.0 / std::max(forecast->samples, 1U) : 1;
    below_ = std::max(least, wider * seconds(forecast->median - forecast->low) / deviations);
    above_ = std::max(least, wider * seconds(forecast->high - forecast->median) / deviations);
    share_of_others_ = others;
  }
  now_ = lasts(age_);
}

double Remaining::lasts(double age) const {
  const double of_others = scale_ / (scale_ + age);
  if (share_of_others_ == 1) return of_others;
  const double off = (age - median_) / (age < median_ ? below_ : above_);
  const double of_most = std::erfc(off / std::numbers::sqrt2) / 2;
  return share_of_others_ * of_others + (1 - share_of_others_) * of_most;
}

double Remaining::ends_within(Duration time) const {
  return 1 - lasts(age_ + seconds(time)) / now_;
}

// The integral of ends_within() over the slice, by Simpson's rule.
Duration Remaining::expected_overrun(Duration until, Duration slice) const {
  const double begin = age_ + seconds(until), length = seconds(slice);
  const double mean = (lasts(begin) + 4 * lasts(begin + length / 2) + lasts(begin + length)) / 6;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(length * (1 - mean / now_)));
}

}  // namespace weft
