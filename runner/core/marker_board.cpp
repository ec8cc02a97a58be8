// The dispatcher thread's view of the marker words; see the header.
#include "runner/core/marker_board.h"

namespace weft {

void MarkerBoard::note(const Event& event) {
  switch (event.kind) {
    case EventKind::group_issued:
      remember(event, event.ticket, EventKind::group_started);
      remember(event, event.done_ticket, EventKind::group_done);
      break;
    case EventKind::wait_issued:
      remember(event, event.ticket, EventKind::wait_reached);
      remember(event, event.done_ticket, EventKind::wait_passed);
      break;
    case EventKind::mark_issued:
    case EventKind::stream_destroyed:
      remember(event, event.ticket, EventKind::wait_passed);
      break;
    default:
      break;
  }
}

void MarkerBoard::remember(const Event& event, Ticket ticket, EventKind kind) {
  if (ticket == 0) return;
  std::deque<Event>& queue = streams_[event.stream];
  if (outstanding_ >= most_ && !queue.empty()) {
    ++given_up_;
    forget(queue);
  }
  Event expected = event;
  expected.kind = kind;
  expected.ticket = ticket;
  expected.done_ticket = 0;
  expected.summary = {};
  queue.push_back(expected);
  ++outstanding_;
  if (kind == EventKind::group_done) ++groups_pending_;
}

void MarkerBoard::forget(std::deque<Event>& queue) {
  if (queue.front().kind == EventKind::group_done) --groups_pending_;
  queue.pop_front();
  --outstanding_;
}

bool MarkerBoard::is_reached(Ticket ticket, bool ask) const {
  return is_written(words_.host, words_.count, ticket) || (ask && events_.has_happened(ticket));
}

void MarkerBoard::look(std::vector<Event>& happened, bool ask) {
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    std::deque<Event>& queue = entry->second;
    while (!queue.empty() && is_reached(queue.front().ticket, ask)) {
      happened.push_back(queue.front());
      forget(queue);
    }
    entry = queue.empty() ? streams_.erase(entry) : std::next(entry);
  }
}

}  // namespace weft
