// Asks streams whether they are dry; see the header.
#include "runner/core/idle_checks.h"

#include <algorithm>

namespace weft {

void IdleChecks::note(const Event& event) {
  if (event.kind == EventKind::host_wait_begun) begun_ = event.time;
  if (event.kind == EventKind::host_wait_ended) {
    begun_.reset();
    asked_.clear();
  }
  if (event.kind != EventKind::idle_check_issued && event.kind != EventKind::stream_destroyed) return;
  std::erase_if(asked_, [&](const Asked& asked) { return asked.event.stream == event.stream; });
  if (event.kind == EventKind::idle_check_issued) asked_.push_back({event, State::asked});
}

void IdleChecks::look(TimePoint time, std::vector<Event>& happened) {
  if (!begun_) return;
  for (Asked& asked : asked_) {
    if (asked.state == State::runs_again) continue;
    const bool was_dry = asked.state == State::dry;
    if (shim_.is_dry(device_, asked.event.stream) == was_dry) continue;
    asked.state = was_dry ? State::runs_again : State::dry;
    Event event = asked.event;
    event.kind = was_dry ? EventKind::idle_check_issued : EventKind::idle_check_reached;
    event.time = std::max({event.time, time, *begun_});
    happened.push_back(event);
  }
}

}  // namespace weft
