// HandleTable: what the shim knows of an opaque handle (stream, communicator), in a fixed number of slots without a
// lock.
//
// Any thread. A slot's memory is never freed, so a pointer to an entry stays valid; whether it still means the same
// handle says its id. Zeroed memory is an empty table. A full table takes nothing new, which the caller counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft {

// Entry has std::atomic<std::uint64_t> key; 0 is a slot that was never used.
template <class Entry, std::uint32_t slots>
struct HandleTable {
  static constexpr std::uint64_t released = ~std::uint64_t{0};
  // An entry is never farther than this from its first slot, so that a look-up of what is not there stays short also
  // when many entries have come and gone. A table is full for a key when that neighbourhood is.
  static constexpr std::uint32_t most_probes = slots < 64 ? slots : 64;

  Entry* find(std::uint64_t key) noexcept {
    if (key == 0) return nullptr;
    std::uint32_t slot = first_slot(key);
    for (std::uint32_t probe = 0; probe < most_probes; ++probe, slot = (slot + 1) % slots) {
      const std::uint64_t there = entries[slot].key.load(std::memory_order_acquire);
      if (there == key) return &entries[slot];
      if (there == 0) return nullptr;
    }
    return nullptr;
  }

  // The entry of the key, made if need be; nullptr: full. A new entry's other fields are as release() left them.
  Entry* claim(std::uint64_t key) noexcept {
    if (Entry* known = find(key)) return known;
    std::uint32_t slot = first_slot(key);
    for (std::uint32_t probe = 0; probe < most_probes; ++probe, slot = (slot + 1) % slots) {
      std::uint64_t there = entries[slot].key.load(std::memory_order_acquire);
      if (there != 0 && there != released && there != key) continue;
      if (there == key || entries[slot].key.compare_exchange_strong(there, key, std::memory_order_acq_rel) ||
          there == key) {
        return &entries[slot];
      }
    }
    return nullptr;
  }

  // The caller has made the entry's other fields empty.
  static void release(Entry& entry) noexcept { entry.key.store(released, std::memory_order_release); }

  static std::uint32_t first_slot(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32) % slots;
  }

  Entry entries[slots];
};

}  // namespace weft
