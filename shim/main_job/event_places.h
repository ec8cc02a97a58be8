// Events of the main job: which place on which stream each one stands for.
//
// Any thread, in hooks: a table of fixed size without a lock. Only places that are not reached yet are kept. An event
// that finds no room pushes out another one, which is counted as lost.
#pragma once

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

// Just behind the last group or noted wait of a stream, whose last marker is `ticket`.
struct EventPlace {
  StreamId stream;  // or every_stream
  int device;
  Ticket ticket;  // 0: nothing that communication could hold up
  // Stream 0, and any other ticket: behind something that got no markers when that was the newest.
  // And behind a copy (copies.h) that comes next there, and has no marker. Stream 0: that is all; `ticket` was the
  // newest.
  bool copies = false;

  friend bool operator==(const EventPlace&, const EventPlace&) = default;
};

// One word holds a place: at most so many streams of a process can be told apart here.
inline constexpr StreamId most_placed_streams = every_stream;
std::uint64_t packed(const EventPlace& place) noexcept;
EventPlace unpacked(std::uint64_t word) noexcept;

// Communication could hold it up, and the streams are not past it. Nobody knows that of what got no markers: it is ahead
// for a long time.
bool is_ahead(const EventPlace& place) noexcept;
// Only a copy can still hold it up.
bool is_copy(const EventPlace& place) noexcept;

// How many streams of the device have such a place ahead of them, and the last one found. Looks at all streams.
int places_ahead(int device, EventPlace* last = nullptr) noexcept;

// The event stands for this place from now on.
void map_event(CUevent event, const EventPlace& place) noexcept;
// It stands for nothing any more.
void forget_event(CUevent event) noexcept;
EventPlace place_of_event(CUevent event) noexcept;

}  // namespace weft
