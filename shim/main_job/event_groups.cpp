// Events of the main job; see event_groups.h.
#include "shim/main_job/event_groups.h"

#include <atomic>
#include <cstdint>

#include "shim/main_job/group_log.h"
#include "shim/notes.h"

namespace weft {
namespace {

struct MappedEvent {
  std::atomic<std::uint64_t> key;
  std::atomic<GroupId> group;
};
constexpr std::uint32_t sets = 4096;
constexpr std::uint32_t ways = 4;
alignas(64) constinit MappedEvent events[sets][ways]{};  // a set is a cache line
constinit std::atomic<std::uint32_t> next_victim{0};

std::uint64_t key_of(CUevent event) noexcept {
  return reinterpret_cast<std::uint64_t>(event);
}

MappedEvent (&set_of(CUevent event) noexcept)[ways] {
  return events[((key_of(event) * 0x9e3779b97f4a7c15u) >> 40) % sets];
}

}  // namespace

void map_event(CUevent event, GroupId group) noexcept {
  MappedEvent(&set)[ways] = set_of(event);
  for (MappedEvent& entry : set) {
    if (entry.key.load(std::memory_order_relaxed) != key_of(event)) continue;
    if (entry.group.load(std::memory_order_relaxed) != group) entry.group.store(group, std::memory_order_release);
    return;
  }
  if (group == 0) return;
  for (MappedEvent& entry : set) {
    std::uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (is_pending(place_of_group(entry.group.load(std::memory_order_relaxed)))) continue;
    if (!entry.key.compare_exchange_strong(key, key_of(event), std::memory_order_acq_rel)) continue;
    entry.group.store(group, std::memory_order_release);
    return;
  }
  note_lost();
  MappedEvent& victim = set[next_victim.fetch_add(1, std::memory_order_relaxed) % ways];
  victim.group.store(0, std::memory_order_relaxed);
  victim.key.store(key_of(event), std::memory_order_release);
  victim.group.store(group, std::memory_order_release);
}

GroupId group_of_event(CUevent event) noexcept {
  for (const MappedEvent& entry : set_of(event)) {
    if (entry.key.load(std::memory_order_acquire) == key_of(event)) return entry.group.load(std::memory_order_acquire);
  }
  return 0;
}

}  // namespace weft
