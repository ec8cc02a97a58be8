// See the header.
#include "trace/clocks/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "detector/median.h"

namespace weft {
namespace {

using Knot = ClockOffset::Knot;

Duration clamped(Duration duration) {
  return std::clamp(duration, -farthest_time, farthest_time);
}

TimePoint clamped(TimePoint time) {
  return TimePoint(clamped(time.time_since_epoch()));
}

// Rounded; of a length that counts.
Duration part(double share, Duration whole) {
  const auto most = static_cast<double>(farthest_time.count());
  return Duration(std::llround(std::clamp(share * static_cast<double>(whole.count()), -most, most)));
}

// Rounded up: an interval never gets narrower.
Duration wider_part(double share, Duration whole) {
  return part(share, whole) + Duration(share != 0 && whole != Duration{} ? 1 : 0);
}

Knot between(const Knot& left, const Knot& right, TimePoint time) {
  const double share =
      static_cast<double>((time - left.time).count()) / static_cast<double>((right.time - left.time).count());
  return {time, left.ahead + part(share, right.ahead - left.ahead),
          left.within + part(share, right.within - left.within)};
}

}  // namespace

ClockOffset::ClockOffset(std::vector<Knot> knots, double rate, double rate_within)
    : rate_(rate), rate_within_(rate_within) {
  for (Knot& knot : knots) {
    knot = {clamped(knot.time), clamped(knot.ahead), clamped(knot.within)};
    if (knots_.empty() || knot.time > knots_.back().time) add(knot);
  }
  while (knots_.size() > most_knots) thin_out();
}

// No clock goes back. Where a knot says so, the truth is somewhere else in its interval.
void ClockOffset::add(Knot knot) {
  if (!knots_.empty()) {
    const Duration back = (knots_.back().time + knots_.back().ahead + Duration(1)) - (knot.time + knot.ahead);
    if (back > Duration{}) knot.ahead += back, knot.within = clamped(knot.within + back);
  }
  knots_.push_back(knot);
}

// Half of them. The neighbours of one that goes stand for it: what it allowed they allow, too.
void ClockOffset::thin_out() {
  std::vector<Knot> kept;
  for (std::size_t index = 0; index < knots_.size(); index += 2) kept.push_back(knots_[index]);
  if (knots_.size() % 2 == 0) kept.push_back(knots_.back());
  for (std::size_t index = 1; index + 1 < knots_.size(); index += 2) {
    Knot& left = kept[index / 2];
    Knot& right = kept[index / 2 + 1];
    const Knot line = between(left, right, knots_[index].time);
    const Duration lacks = knots_[index].within + std::chrono::abs(knots_[index].ahead - line.ahead) - line.within;
    if (lacks > Duration{}) left.within += lacks, right.within += lacks;
  }
  knots_ = std::move(kept);
}

ClockOffset ClockOffset::reaching(TimePoint from, TimePoint to) const {
  ClockOffset longer = *this;
  const auto knot_at = [&](TimePoint time) {
    const KnownOffset known = at(time);
    return Knot{time, known.ahead, known.within};
  };
  from = clamped(from), to = clamped(to);
  if (from < knots_.front().time) longer.knots_.insert(longer.knots_.begin(), knot_at(from));
  if (to > knots_.back().time) longer.knots_.push_back(knot_at(to));
  return longer;
}

KnownOffset ClockOffset::at(TimePoint time) const {
  time = clamped(time);
  const auto right = std::ranges::upper_bound(knots_, time, {}, &Knot::time);
  if (right == knots_.begin() || right == knots_.end()) {
    const Knot& end = right == knots_.begin() ? knots_.front() : knots_.back();
    const Duration beyond = time - end.time;
    return {clamped(end.ahead + part(rate_, beyond)),
            clamped(end.within + wider_part(rate_within_, std::chrono::abs(beyond)))};
  }
  const Knot knot = between(*(right - 1), *right, time);
  return {knot.ahead, knot.within};
}

Duration ClockOffset::median_within(TimePoint from, TimePoint to) const {
  constexpr int times = 256;
  from = clamped(std::min(from, knots_.front().time)), to = clamped(std::max(to, knots_.back().time));
  std::vector<Duration> lengths;
  const auto length = static_cast<double>((to - from).count());
  for (int time = 0; time <= times; ++time)
    lengths.push_back(at(from + Duration(std::llround(length * time / times))).within);
  return median(std::move(lengths));
}

Duration ClockOffset::most_within(TimePoint from, TimePoint to) const {
  const Duration ends =
      std::max(at(std::min(from, knots_.front().time)).within, at(std::max(to, knots_.back().time)).within);
  return std::max(ends, std::ranges::max(knots_, {}, &Knot::within).within);
}

ClockOffset ClockOffset::inverse() const {
  std::vector<Knot> knots;
  for (const Knot& knot : knots_) knots.push_back({knot.time + knot.ahead, -knot.ahead, knot.within});
  return {std::move(knots), -rate_ / (1 + rate_), rate_within_};
}

ClockOffset ClockOffset::then(const ClockOffset& next) const {
  std::vector<TimePoint> times;
  if (!is_constant() || next.is_constant())
    for (const Knot& knot : knots_) times.push_back(knot.time);
  const ClockOffset back = inverse();
  if (!next.is_constant())
    for (const Knot& knot : next.knots_) times.push_back(knot.time + back.at(knot.time).ahead);
  std::ranges::sort(times);
  std::vector<Knot> knots;
  for (const TimePoint time : times) {
    const KnownOffset first = at(time);
    const KnownOffset second = next.at(time + first.ahead);
    knots.push_back({time, first.ahead + second.ahead, first.within + second.within});
  }
  return {std::move(knots), rate_ + next.rate_, rate_within_ + next.rate_within_};
}

}  // namespace weft
