// The ring and the counters behind the hooks; see notes.h.
#include "shim/notes.h"

namespace weft {

constinit EventRing event_ring{};
constinit std::atomic<std::uint64_t> lost_notes{0};

namespace {
constinit std::atomic<const char*> first_full{nullptr};
}  // namespace

std::uint64_t dropped_events() noexcept {
  return event_ring.dropped.load(std::memory_order_relaxed) + lost_notes.load(std::memory_order_relaxed);
}

void note_full(const char* what) noexcept {
  const char* none = nullptr;
  first_full.compare_exchange_strong(none, what, std::memory_order_acq_rel);
}

const char* full_table() noexcept {
  return first_full.load(std::memory_order_acquire);
}

}  // namespace weft
