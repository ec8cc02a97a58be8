// A cursor runs through the measured parts; see the header.
#include "trace/export/idle_times.h"

#include <algorithm>
#include <utility>

namespace weft {

IdleTimes::IdleTimes(const std::vector<TimeWindow>& measured, Take take, std::size_t most_waiting)
    : measured_(measured), take_(std::move(take)), most_waiting_(most_waiting) {
  if (!measured_.empty()) cursor_ = measured_.front().begin;
}

void IdleTimes::add(const TimePart& part) {
  waiting_.push(part);
  if (waiting_.size() <= most_waiting_) return;
  place(waiting_.top());
  waiting_.pop();
}

void IdleTimes::finish() {
  for (; !waiting_.empty(); waiting_.pop()) place(waiting_.top());
  while (at_ < measured_.size()) leave_window();
}

void IdleTimes::be_busy_until(TimePoint time) {
  if (cursor_ >= time) return;
  take_({PartKind::busy, cursor_, time, {}});
  cursor_ = time;
}

void IdleTimes::leave_window() {
  be_busy_until(measured_[at_].end);
  if (++at_ < measured_.size()) cursor_ = std::max(cursor_, measured_[at_].begin);
}

// It may reach over several measured parts.
void IdleTimes::place(const TimePart& part) {
  for (; at_ < measured_.size(); leave_window()) {
    const TimeWindow& window = measured_[at_];
    if (part.begin >= window.end) continue;
    const Duration seen = std::min(part.end, window.end) - std::max(part.begin, window.begin);
    TimePart free = part;
    free.begin = std::max(part.begin, cursor_);
    free.end = std::min(part.end, window.end);
    lost_ += std::max(seen, Duration{}) - std::max(free.end - free.begin, Duration{});
    if (free.begin < free.end) {
      be_busy_until(free.begin);
      take_(free);
      cursor_ = free.end;
    }
    if (part.end <= window.end) return;
  }
}

}  // namespace weft
