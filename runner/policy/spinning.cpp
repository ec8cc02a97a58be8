// See spinning.h.
#include "runner/policy/spinning.h"

#include <algorithm>

namespace weft {
namespace {

// A forecast's low and high quantiles, 10 and 90 %, lie 1.28 standard deviations from the median. The window reaches
// 2.2 of them to either side: 97 % of the bubbles end in it, and before it slices are long (planner.h).
constexpr double reach = 2.2 / 1.2815515655446004;

Duration scaled(Duration length, double by) {
  return std::chrono::duration_cast<Duration>(length * by);
}

}  // namespace

void Spinning::earn(TimePoint now) {
  if (earned_ != TimePoint{} && now > earned_) saved_ = std::min(saved_ + scaled(now - earned_, share_), most_saved);
  earned_ = std::max(earned_, now);
}

// Bubbles end in the middle of the window on average. Where less is saved than that takes, it becomes narrower.
void Spinning::is_open(const Bubble& bubble, TimePoint now) {
  if (bubble.id == bubble_) return;
  end_window(now);
  bubble_ = bubble.id;
  if (!bubble.forecast || now < rests_until_) return;
  const Forecast& forecast = *bubble.forecast;
  const Duration before = scaled(forecast.median - forecast.low, reach);
  const Duration after = scaled(forecast.high - forecast.median, reach);
  if (before <= Duration{} || saved_ <= Duration{}) return;
  const double part = std::min(1.0, std::chrono::duration<double>(saved_) / before);
  const TimePoint end = bubble.opened + forecast.median;
  const TimePoint from = end - scaled(before, part);
  // A straggler among few samples makes the high quantile as large as itself.
  window_ = {from, std::min(end + scaled(after, part), from + saved_)};
}

void Spinning::none_is_open(TimePoint now) {
  end_window(now);
  bubble_ = 0;
}

void Spinning::end_window(TimePoint now) {
  if (window_) {
    const Duration used = std::max(std::min(now, window_->until) - window_->from, Duration{});
    spent_ += used;
    saved_ -= used;
    if (++undisturbed_ % enough_undisturbed == 0) rest_ = std::max(rest_ / 2, shortest_rest);
  }
  window_.reset();
  earn(now);
}

void Spinning::interrupted(TimePoint now) {
  end_window(now);
  undisturbed_ = 0;
  rests_until_ = now + rest_;
  rest_ = std::min(2 * rest_, longest_rest);
}

}  // namespace weft
