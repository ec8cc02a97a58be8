// Events of the main job; see event_places.h.
#include "shim/main_job/event_places.h"

#include <atomic>
#include <cstdint>

#include "shim/main_job/devices.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

constexpr std::uint64_t copies_bit = 0x80;  // in the byte of the device
static_assert(most_devices <= static_cast<int>(copies_bit));

struct MappedEvent {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> place;
};
constexpr std::uint32_t sets = 4096;
constexpr std::uint32_t ways = 4;
alignas(64) constinit MappedEvent events[sets][ways]{};  // a set is a cache line
constinit std::atomic<std::uint32_t> next_victim{0};
// Tickets given out since, until what got no markers is taken for over.
constexpr Ticket most_unmarked = 1U << 16;

std::uint64_t key_of(CUevent event) noexcept {
  return reinterpret_cast<std::uint64_t>(event);
}

MappedEvent (&set_of(CUevent event) noexcept)[ways] {
  return events[((key_of(event) * 0x9e3779b97f4a7c15u) >> 40) % sets];
}

bool is_recent(const EventPlace& place) noexcept {
  return newest_ticket(place.device).load(std::memory_order_relaxed) - place.ticket < most_unmarked;
}

// Nobody has to wait for what the entry stands for; or, `also_copies`, only a copy has.
bool take(MappedEvent& entry, CUevent event, std::uint64_t word, bool also_copies) noexcept {
  std::uint64_t key = entry.key.load(std::memory_order_relaxed);
  const EventPlace there = unpacked(entry.place.load(std::memory_order_relaxed));
  if (is_ahead(there) || (!also_copies && is_copy(there))) return false;
  if (!entry.key.compare_exchange_strong(key, key_of(event), std::memory_order_acq_rel)) return false;
  entry.place.store(word, std::memory_order_release);
  return true;
}

}  // namespace

std::uint64_t packed(const EventPlace& place) noexcept {
  return std::uint64_t{place.ticket} << 32 | std::uint64_t{place.stream} << 8 |
         static_cast<std::uint64_t>(place.device) | (place.copies ? copies_bit : 0);
}

EventPlace unpacked(std::uint64_t word) noexcept {
  return {static_cast<StreamId>(word >> 8) & every_stream, static_cast<int>(word & (copies_bit - 1)),
          static_cast<Ticket>(word >> 32), (word & copies_bit) != 0};
}

bool is_ahead(const EventPlace& place) noexcept {
  // A stream may have got a new marker since: it counts, which is too often rather than too rarely.
  if (place.stream == every_stream) return places_ahead(place.device) != 0;
  if (place.stream == 0) return place.ticket != 0 && !place.copies && is_recent(place);
  return place.ticket != 0 && !reached(place.device, place.ticket);
}

bool is_copy(const EventPlace& place) noexcept {
  return place.copies && (place.stream == 0 || reached(place.device, place.ticket)) && is_recent(place);
}

int places_ahead(int device, EventPlace* last) noexcept {
  int count = 0;
  for (const Stream& stream : all_streams()) {
    const StreamId id = stream.id.load(std::memory_order_acquire);
    if (id == 0 || stream.device.load(std::memory_order_relaxed) != device) continue;
    const EventPlace place{id, device, stream.latest.load(std::memory_order_relaxed)};
    if (!is_ahead(place)) continue;
    ++count;
    if (last != nullptr) *last = place;
  }
  return count;
}

void map_event(CUevent event, const EventPlace& place) noexcept {
  const std::uint64_t word = packed(place);
  MappedEvent(&set)[ways] = set_of(event);
  for (MappedEvent& entry : set) {
    if (entry.key.load(std::memory_order_relaxed) != key_of(event)) continue;
    if (entry.place.load(std::memory_order_relaxed) != word) entry.place.store(word, std::memory_order_release);
    return;
  }
  for (const bool also_copies : {false, true}) {
    for (MappedEvent& entry : set) {
      if (take(entry, event, word, also_copies)) return;
    }
  }
  if (is_copy(place)) return;
  note_lost();
  MappedEvent& victim = set[next_victim.fetch_add(1, std::memory_order_relaxed) % ways];
  victim.place.store(0, std::memory_order_relaxed);
  victim.key.store(key_of(event), std::memory_order_release);
  victim.place.store(word, std::memory_order_release);
}

void forget_event(CUevent event) noexcept {
  for (MappedEvent& entry : set_of(event)) {
    if (entry.key.load(std::memory_order_relaxed) != key_of(event)) continue;
    if (entry.place.load(std::memory_order_relaxed) != 0) entry.place.store(0, std::memory_order_release);
    return;
  }
}

EventPlace place_of_event(CUevent event) noexcept {
  for (const MappedEvent& entry : set_of(event)) {
    if (entry.key.load(std::memory_order_acquire) == key_of(event))
      return unpacked(entry.place.load(std::memory_order_acquire));
  }
  return {};
}

}  // namespace weft
