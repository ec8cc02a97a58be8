// See the header.
#include "trace/clocks/pair_bounds.h"

#include <algorithm>
#include <utility>

#include "trace/nanoseconds.h"

namespace weft {
namespace {

double rise_between(const ClockBound& left, const ClockBound& right) {
  return nanoseconds(right.ahead - left.ahead) / std::max(nanoseconds(right.time - left.time), 1.0);
}

double height_over(const ClockBound& from, double rise, const ClockBound& bound) {
  return nanoseconds(bound.ahead - from.ahead) - rise * nanoseconds(bound.time - from.time);
}

}  // namespace

std::vector<ClockBound> corners(std::span<const ClockBound> bounds, bool are_most) {
  std::vector<ClockBound> kept;
  for (const ClockBound& bound : bounds) {
    if (!kept.empty() && kept.back().time == bound.time) {
      const bool is_tighter = are_most ? bound.ahead < kept.back().ahead : bound.ahead > kept.back().ahead;
      if (!is_tighter) continue;
      kept.pop_back();
    }
    while (kept.size() > 1) {
      const ClockBound& left = kept[kept.size() - 2];
      const double over = height_over(left, rise_between(left, bound), kept.back());
      if (are_most ? over < 0 : over > 0) break;
      kept.pop_back();
    }
    kept.push_back(bound);
  }
  return kept;
}

double BoundList::height(const ClockBound& bound) const {
  return height_over(from_, rise_, bound);
}

bool BoundList::is_tighter(const ClockBound& one, const ClockBound& other) const {
  return are_most_ ? height(one) < height(other) : height(one) > height(other);
}

void BoundList::add(const ClockBound& bound) {
  if (waiting_ == 0 || is_tighter(bound, best_)) best_ = bound;
  if (++waiting_ < together_) return;
  waiting_ = 0;
  bounds_.push_back(best_);
  if (bounds_.size() >= 2 * most_kept_) thin_out();
}

// Along the line that lies at all of them in the middle of the time.
void BoundList::thin_out() {
  std::ranges::sort(bounds_, {}, &ClockBound::time);
  const std::vector<ClockBound> line = corners(bounds_, are_most_);
  const TimePoint middle = bounds_[bounds_.size() / 2].time;
  from_ = line.front();
  for (std::size_t index = 1; index < line.size() && from_.time < middle; ++index) {
    rise_ = rise_between(line[index - 1], line[index]);
    from_ = line[index];
  }
  std::size_t kept = 0;
  for (std::size_t index = 0; index + 1 < bounds_.size(); index += 2)
    bounds_[kept++] = is_tighter(bounds_[index], bounds_[index + 1]) ? bounds_[index] : bounds_[index + 1];
  bounds_.resize(kept);
  together_ *= 2;
}

void BoundList::finish() {
  if (waiting_ > 0) bounds_.push_back(best_);
  waiting_ = 0;
  std::ranges::sort(bounds_, {}, &ClockBound::time);
}

}  // namespace weft
