// See event_source.h.
#include "runner/core/event_source.h"

#include <algorithm>
#include <utility>

namespace weft {

EventSource::EventSource(const ShimServices& shim, EventRouter& router, const MarkerWords& words, int device)
    : shim_(shim), router_(router), device_(device), board_(words), idle_checks_(shim, device) {
  dropped_ = shim_.dropped_events();
  lost_before_ = dropped_ + router_.lost();
}

const std::vector<Event>& EventSource::gather(TimePoint now, bool ask) {
  events_.clear();
  answers_.clear();
  router_.take(device_, events_);
  for (const Event& event : events_) {
    board_.note(event);
    idle_checks_.note(event);
  }
  // Streams are asked before the words are read: what a dry stream wrote comes before the news that it is dry.
  // Between two looks anything may have happened at any time: it is dated in the middle.
  const TimePoint middle = last_look_ + (now - last_look_) / 2;
  if (ask) idle_checks_.look(middle, answers_);
  board_.look(middle, events_);
  last_look_ = now;
  events_.insert(events_.end(), answers_.begin(), answers_.end());
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  return events_;
}

bool EventSource::lost_more() {
  const std::uint64_t dropped = shim_.dropped_events();
  return std::exchange(dropped_, dropped) != dropped;
}

std::uint64_t EventSource::lost() const {
  return shim_.dropped_events() + router_.lost() - lost_before_ + board_.given_up();
}

}  // namespace weft
