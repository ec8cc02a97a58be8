// The ring and the counters behind the hooks: how an event is made and where it goes.
//
// Hooks only, any thread. Nothing here blocks, allocates or fails; what cannot be recorded is counted.
#pragma once

#include <time.h>

#include "shim/ring.h"

namespace weft {

extern EventRing event_ring;
extern std::atomic<std::uint64_t> lost_notes;  // besides those the ring dropped

inline TimePoint now() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

inline Event event_of(EventKind kind, int device) noexcept {
  Event event{};
  event.time = now();
  event.kind = kind;
  event.device = device;
  return event;
}

inline void note(const Event& event) noexcept {
  event_ring.push(event);
}
inline void note_lost() noexcept {
  lost_notes.fetch_add(1, std::memory_order_relaxed);
}
std::uint64_t dropped_events() noexcept;

// A table of the shim has no room for one more of `what` (a string literal): it is not seen, and the core says so once.
void note_full(const char* what) noexcept;
const char* full_table() noexcept;  // the first `what`, nullptr: everything fits

}  // namespace weft
