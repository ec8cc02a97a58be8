// The room between the bounds is a concave function of the slope: its peak is looked for, then where it falls to zero
// on both sides.
#include "trace/clocks/steady_rate.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr double rounding = 2;  // nanoseconds; what lies so close does not contradict
constexpr int steps = 60;

class Room {
 public:
  Room(std::span<const ClockBound> most, std::span<const ClockBound> least)
      : most_(corners(most, true)), least_(corners(least, false)), from_(most_.front()) {}

  // Between the lowest of the upper bounds and the highest of the lower ones, along lines with this slope.
  double at(double slope) const {
    double lowest = std::numeric_limits<double>::max(), highest = std::numeric_limits<double>::lowest();
    for (const ClockBound& bound : most_) lowest = std::min(lowest, along(slope, bound));
    for (const ClockBound& bound : least_) highest = std::max(highest, along(slope, bound));
    return lowest - highest + rounding;
  }

 private:
  double along(double slope, const ClockBound& bound) const {
    return static_cast<double>((bound.ahead - from_.ahead).count()) -
           slope * static_cast<double>((bound.time - from_.time).count());
  }

  std::vector<ClockBound> most_, least_;
  ClockBound from_;
};

double peak(const Room& room) {
  double low = -most_rate, high = most_rate;
  for (int step = 0; step < 2 * steps; ++step) {
    const double third = (high - low) / 3;
    if (room.at(low + third) < room.at(high - third))
      low += third;
    else
      high -= third;
  }
  return (low + high) / 2;
}

// Between a slope that leaves room and one that may not: the last that does.
double last_with_room(const Room& room, double with, double without) {
  if (room.at(without) >= 0) return without;
  for (int step = 0; step < steps; ++step) {
    const double middle = (with + without) / 2;
    (room.at(middle) >= 0 ? with : without) = middle;
  }
  return with;
}

}  // namespace

std::optional<SteadyRate> steady_rate(std::span<const ClockBound> most, std::span<const ClockBound> least) {
  const Room room(most, least);
  const double best = peak(room);
  if (room.at(best) < 0) return std::nullopt;
  return SteadyRate{last_with_room(room, best, -most_rate), last_with_room(room, best, most_rate), room.at(best)};
}

}  // namespace weft
