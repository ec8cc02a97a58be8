// The ring and the counters behind the hooks; see notes.h.
#include "shim/notes.h"

namespace weft {

constinit EventRing event_ring{};
constinit std::atomic<std::uint64_t> lost_notes{0};

std::uint64_t dropped_events() noexcept {
  return event_ring.dropped.load(std::memory_order_relaxed) + lost_notes.load(std::memory_order_relaxed);
}

}  // namespace weft
