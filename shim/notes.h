// The ring and the counters behind the hooks: how an event is made and where it goes.
//
// Hooks only, any thread. Nothing here blocks, allocates or fails; what cannot be recorded is counted.
#pragma once

#include "shim/event_clock.h"
#include "shim/process.h"
#include "shim/seam/ring.h"

namespace weft {

extern EventRing event_ring;
extern std::atomic<std::uint64_t> lost_notes;  // besides those the ring dropped

// fill(Event&) adds what the kind has besides.
template <class Fill>
[[gnu::always_inline]] inline void note(EventKind kind, int device, Fill fill) noexcept {
  const TimePoint time = event_clock.now_after(thread_state.last_event);
  event_ring.push([&](Event& event) {
    event = Event{};
    event.time = time;
    event.kind = kind;
    event.device = static_cast<std::int16_t>(device);
    fill(event);
  });
}
// Belongs to the last event that this thread has noted, and has its time.
template <class Fill>
inline void note_again(EventKind kind, int device, Fill fill) noexcept {
  event_ring.push([&](Event& event) {
    event = Event{};
    event.time = thread_state.last_event;
    event.kind = kind;
    event.device = static_cast<std::int16_t>(device);
    fill(event);
  });
}
inline void note_lost() noexcept {
  lost_notes.fetch_add(1, std::memory_order_relaxed);
}
std::uint64_t dropped_events() noexcept;

// A table of the shim has no room for one more of `what` (a string literal): it is not seen, and the core says so once.
void note_full(const char* what) noexcept;
const char* full_table() noexcept;  // the first `what`, nullptr: everything fits

}  // namespace weft
