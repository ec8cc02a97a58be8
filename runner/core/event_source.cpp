// See event_source.h.
#include "runner/core/event_source.h"

#include <algorithm>
#include <utility>

namespace weft {

EventSource::EventSource(const ShimServices& shim, EventRouter& router, const MarkerWords& words, int device,
                         const MarkedEvents& events)
    : shim_(shim), router_(router), device_(device), board_(words, events) {
  dropped_ = shim_.dropped_events();
  unheard_before_ = unheard_annotations();
  lost_before_ = dropped_ + router_.lost();
}

const std::vector<Event>& EventSource::gather(TimePoint begin, Clock clock, bool ask) {
  events_.clear();
  router_.take(device_, events_);
  for (const Event& event : events_) board_.note(event);
  const std::size_t noted = events_.size();
  board_.look(events_, ask);
  if (ask && std::exchange(looked_at_all_, lost()) != lost()) board_.look_at_all();
  end_ = clock();
  middle_ = last_begin_ + (end_ - last_begin_) / 2;
  last_begin_ = begin;
  // A hook may have noted one after this look began: a marker is never before the event that announced it.
  for (std::size_t i = noted; i < events_.size(); ++i) events_[i].time = std::max(events_[i].time, middle_);
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  return events_;
}

bool EventSource::lost_more() {
  const std::uint64_t dropped = shim_.dropped_events();
  return std::exchange(dropped_, dropped) != dropped;
}

UnheardAnnotations EventSource::unheard_annotations() const {
  if (shim_.unheard_annotations == nullptr) return {};
  const UnheardAnnotations now = shim_.unheard_annotations();
  return {now.held_back - unheard_before_.held_back, now.refused - unheard_before_.refused};
}

std::uint64_t EventSource::lost() const {
  return shim_.dropped_events() + router_.lost() - lost_before_ + board_.given_up();
}

}  // namespace weft
