// See leader.h.
#include "detector/leader.h"

#include <utility>

namespace weft {

bool Leader::bounds_take_over(const Rhythm& rhythm, const Bounds& bounds, bool period_is_sure, bool begins) {
  if (!period_is_sure) unsure_until_ = rhythm.size();
  if (!begins) return false;
  if (std::exchange(bound_, bounds.key()) != bounds.key()) {
    led_ = agreed_ = false;
    losses_ = 0;
  }
  if (period_is_sure && is_whole(rhythm, bounds)) {
    led_until_ = rhythm.size();
    led_ = bounds.latest_length() == rhythm.period();
    agreed_ = agreed_ || led_;
    return false;
  }
  losses_ += std::exchange(led_, false) ? 1 : 0;
  if (losses_ >= most_losses) return true;
  const Beginnings& beginnings = bounds.beginnings();
  std::size_t missed = 0;
  while (missed < beginnings.size() && beginnings[beginnings.size() - 1 - missed] > led_until_) ++missed;
  return missed >= (agreed_ ? missed_later : missed_at_first);
}

// Rows of groups repeat also over iterations of different lengths, but for less than one more period.
bool Leader::is_whole(const Rhythm& rhythm, const Bounds& bounds) const {
  if (rhythm.size() - unsure_until_ > rhythm.period()) return true;
  const Beginnings& b = bounds.beginnings();
  return b.size() > 2 && b.latest() - b[b.size() - 2] == rhythm.period() &&
         b[b.size() - 2] - b[b.size() - 3] == rhythm.period();
}

}  // namespace weft
