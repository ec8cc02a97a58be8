// EventRing: what hooks noted, on its way to the dispatcher.
//
// Producers are hooks on any thread of the main job; the consumer is the one thread of the core that drains it. push()
// is wait-free: it gives up after a fixed number of lost races, and a ring that is full drops; both are counted. Zeroed
// memory is an empty ring. Nothing here may lock, allocate or call into libc: it is compiled into libweft.so and the
// core.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"

namespace weft {

struct EventRing {
  static constexpr std::uint64_t slot_count = 16384;  // a power of two
  static constexpr int attempts = 128;

  // Any thread. False: dropped, and counted. fill(Event&) writes the event where it will be read from, all of it: what
  // is there is an old one. An event that is made elsewhere and copied costs a third more.
  template <class Fill>
  bool push(Fill fill) noexcept {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      std::uint64_t position = tail.load(std::memory_order_acquire);
      Slot& slot = slots[position % slot_count];
      // The sequence of a slot: 2 * lap when it is free for that lap, one more when it has been filled in it.
      const std::uint64_t free_sequence = 2 * (position / slot_count);
      const std::uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
      if (sequence < free_sequence) break;     // full: not emptied since the last lap
      if (sequence > free_sequence) continue;  // another producer was faster
      if (!tail.compare_exchange_weak(position, position + 1, std::memory_order_acq_rel)) continue;
      fill(slot.event);
      slot.sequence.store(free_sequence + 1, std::memory_order_release);
      return true;
    }
    dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Any thread. Events that can be done without are not pushed then: those of later operations, and annotations.
  bool half_full() const noexcept { return holds_more_than(slot_count / 2); }
  bool three_quarters_full() const noexcept { return holds_more_than(slot_count / 4 * 3); }

  // Head first: it may pass a tail that was read before it.
  bool holds_more_than(std::uint64_t events) const noexcept {
    const std::uint64_t taken = head.load(std::memory_order_acquire);
    const std::uint64_t pushed = tail.load(std::memory_order_acquire);
    return static_cast<std::int64_t>(pushed - taken) > static_cast<std::int64_t>(events);
  }

  // The consumer only. False: nothing there.
  bool pop(Event& event) noexcept {
    const std::uint64_t position = head.load(std::memory_order_relaxed);
    Slot& slot = slots[position % slot_count];
    const std::uint64_t lap = position / slot_count;
    if (slot.sequence.load(std::memory_order_acquire) != 2 * lap + 1) return false;
    event = slot.event;
    slot.sequence.store(2 * (lap + 1), std::memory_order_release);
    head.store(position + 1, std::memory_order_relaxed);
    return true;
  }

  struct Slot {
    std::atomic<std::uint64_t> sequence;
    Event event;
  };

  alignas(64) std::atomic<std::uint64_t> tail;
  alignas(64) std::atomic<std::uint64_t> dropped;
  alignas(64) std::atomic<std::uint64_t> head;  // written by the consumer
  alignas(64) Slot slots[slot_count];
};

}  // namespace weft
