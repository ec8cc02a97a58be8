// The only consumer of the ring; see the header.
#include "runner/core/event_router.h"

#include "shim/seam/ring.h"

namespace weft {

void EventRouter::add(int device) {
  const std::lock_guard lock(mutex_);
  inboxes_.try_emplace(device);
}

void EventRouter::take(int device, std::vector<Event>& events) {
  const std::lock_guard lock(mutex_);
  std::vector<Event>& inbox = inboxes_[device];
  Event event;
  while (ring_.pop(event)) route(event);
  events.insert(events.end(), inbox.begin(), inbox.end());
  inbox.clear();
}

void EventRouter::route(const Event& event) {
  const bool of_all = event.device < 0;  // an annotation of a thread that has no device
  if (of_all || event.kind == EventKind::capture_begun || event.kind == EventKind::capture_ended) {
    for (auto& [device, inbox] : inboxes_) keep(inbox, event);
    return;
  }
  // The training may say what it likes of a device that nobody observes.
  if (is_said(event.kind) && !inboxes_.contains(event.device)) {
    said_to_nobody_.insert(event.device);
    return;
  }
  keep(inboxes_[event.device], event);
}

void EventRouter::keep(std::vector<Event>& inbox, const Event& event) {
  if (inbox.size() < most_kept)
    inbox.push_back(event);
  else
    ++lost_;
}

std::optional<int> EventRouter::unobserved() {
  const std::lock_guard lock(mutex_);
  if (unobserved_was_told_) return std::nullopt;
  for (const int device : said_to_nobody_) {
    if (inboxes_.contains(device)) continue;
    unobserved_was_told_ = true;
    return device;
  }
  return std::nullopt;
}

std::uint64_t EventRouter::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace weft
