// See the header.
#include "trace/validate/clock_map.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weft {

ClockMap::ClockMap(std::vector<ClockReading> readings) {
  std::ranges::sort(readings, {}, &ClockReading::cupti);
  for (const ClockReading& reading : readings) {
    const Point point{reading.cupti, reading.before + (reading.after - reading.before) / 2};
    if (!points_.empty() && points_.back().monotonic > point.monotonic) rises_ = false;
    if (!points_.empty() && points_.back().cupti == point.cupti) {
      rises_ = rises_ && points_.back().monotonic == point.monotonic;
      continue;
    }
    points_.push_back(point);
    uncertainty_ = std::max(uncertainty_, (reading.after - reading.before + 1) / 2);
  }
  for (std::size_t i = 1; i + 1 < points_.size(); ++i) {
    const std::int64_t expected = on_line(points_[i - 1], points_[i + 1], points_[i].cupti);
    uncertainty_ = std::max<std::int64_t>(uncertainty_, std::abs(points_[i].monotonic - expected));
  }
}

std::int64_t ClockMap::on_line(const Point& one, const Point& other, std::int64_t cupti) {
  const auto part = static_cast<double>(cupti - one.cupti) / static_cast<double>(other.cupti - one.cupti);
  const auto drift = (other.monotonic - one.monotonic) - (other.cupti - one.cupti);
  // The drift alone is rounded: a long run does not fit into a double to the nanosecond.
  constexpr double most = 1e18;  // of readings that make no sense
  return one.monotonic + (cupti - one.cupti) + std::llround(std::clamp(part * static_cast<double>(drift), -most, most));
}

std::int64_t ClockMap::monotonic(std::int64_t cupti) const {
  if (points_.empty()) return cupti;
  if (points_.size() == 1) return points_.front().monotonic + (cupti - points_.front().cupti);
  auto next = std::ranges::upper_bound(points_, cupti, {}, &Point::cupti);
  next = std::clamp(next, points_.begin() + 1, points_.end() - 1);
  return on_line(*(next - 1), *next, cupti);
}

}  // namespace weft
