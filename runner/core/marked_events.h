// The events that are recorded in place of marker writes where a write may hold up the only hardware queue: they are
// made and given back here, and asked whether they have happened; then their word is written.
//
// Made on a thread of the main job at set-up, with the device's context current; asked by the dispatcher thread alone.
// A query neither waits nor orders anything.
#pragma once

#include <cstdint>

#include "runner/core/driver.h"
#include "shim/seam/marker_words.h"

namespace weft {

// One event for each word, in `places`, which stay mapped. Throws SetUpError when there is no memory for them.
void make_marker_events(const Driver& driver, MarkerEvent* places, std::uint32_t count);
// With their context current. Streams may still be ahead of what is recorded.
void destroy_marker_events(const Driver& driver, MarkerEvent* places, std::uint32_t count) noexcept;

class MarkedEvents {
 public:
  MarkedEvents() = default;  // there are none
  MarkedEvents(const Driver* driver, const MarkerWords& words) : driver_(driver), words_(words) {}

  // The event was recorded for this ticket and has happened. Writes the word.
  bool has_happened(Ticket ticket) const;
  void look_at_all() const;

 private:
  const Driver* driver_ = nullptr;
  MarkerWords words_{};
};

}  // namespace weft
