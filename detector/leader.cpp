// See leader.h.
#include "detector/leader.h"

#include <algorithm>

namespace weft {

bool Leader::bounds_take_over(const Rhythm& rhythm, const Bounds& bounds, bool period_is_sure, bool begins) {
  if (!period_is_sure) unsure_until_ = rhythm.size();
  if (!begins) return false;
  if (period_is_sure && is_whole(rhythm, bounds)) {
    led_until_ = rhythm.size();
    if (bounds.latest_length() == rhythm.period()) note(rhythm.content());
    return false;
  }
  const Beginnings& beginnings = bounds.beginnings();
  std::size_t missed = 0;
  while (missed < beginnings.size() && beginnings[beginnings.size() - 1 - missed] > led_until_) ++missed;
  if (known_ == contents_.size()) return true;
  return missed >= (known_ == 0 ? missed_at_first : missed_later);
}

// Rows of groups repeat also over iterations of different lengths, but for less than one more period.
bool Leader::is_whole(const Rhythm& rhythm, const Bounds& bounds) const {
  if (rhythm.size() - unsure_until_ > rhythm.period()) return true;
  const Beginnings& b = bounds.beginnings();
  return b.size() > 2 && b.latest() - b[b.size() - 2] == rhythm.period() &&
         b[b.size() - 2] - b[b.size() - 3] == rhythm.period();
}

// Three contents between the same bounds: there will be more, or they will come again.
void Leader::note(std::uint64_t content) {
  const auto end = contents_.begin() + static_cast<std::ptrdiff_t>(known_);
  if (known_ == contents_.size() || std::find(contents_.begin(), end, content) != end) return;
  contents_[known_++] = content;
}

}  // namespace weft
