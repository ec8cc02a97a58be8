// Marker words: how the main job's streams say how far they have come. The protocol of both libraries.
//
// A stream writes its ticket into word[ticket % count]; the write is ordered in the stream. Tickets count from 1 and go
// round; a later ticket of the same word may overwrite an earlier one, so a word is compared with >= and never with ==.
// Hooks on any thread and the dispatcher read the words; nothing here locks, waits or calls anything.
//
// Where a write may hold up the only hardware queue, an event is recorded in its place, the one of the word, and the
// dispatcher writes the word when the event has happened.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"

namespace weft {

using MarkerWord = std::atomic<std::uint32_t>;

// An event that stands for a word; `recorded`: the ticket that it was recorded for last, stored after the record.
struct MarkerEvent {
  void* event = nullptr;  // CUevent
  MarkerWord recorded{0};
};

// Pinned host memory of one device. It stays mapped for the rest of the process, because hooks and the dispatcher may
// look at it at any time.
struct MarkerWords {
  MarkerWord* host = nullptr;     // as the host sees them
  std::uint64_t device = 0;       // CUdeviceptr of the same words; 0: no stream may write them
  std::uint32_t count = 0;        // a power of two
  MarkerEvent* events = nullptr;  // one for each word, where they are recorded instead; mapped as long as the words
};

inline std::uint32_t word_of(Ticket ticket, std::uint32_t count) noexcept {
  return ticket & (count - 1);
}

// `ticket` is at least as late as `other`. The later one of two that share a word is ahead by less than half of all
// numbers, also when they wrap around.
inline bool not_before(Ticket ticket, Ticket other) noexcept {
  return static_cast<std::int32_t>(ticket - other) >= 0;
}

// The ticket's word holds it or a later one.
inline bool is_written(const MarkerWord* words, std::uint32_t count, Ticket ticket) noexcept {
  return not_before(words[word_of(ticket, count)].load(std::memory_order_acquire), ticket);
}

}  // namespace weft
