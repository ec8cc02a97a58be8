// AddressTable: which hook an address of the driver or of NCCL belongs to.
//
// Filled by routing/resolve.cpp when a library is first seen and when the driver's other addresses are learned; read
// for every answer of cuGetProcAddress, on any thread, without waiting. One word holds an entry, so that a reader never
// sees half of one. Entries are never taken out. Zeroed memory is an empty table. No libc: also used inside the start
// of a sanitizer.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace weft {

class AddressTable {
 public:
  static constexpr std::uint32_t slot_count =
      1024;  // a power of two: three times what hooks and their aliases can need
  static constexpr std::uint16_t nobody = 0x7fff;

  // The symbol that is exported at this address. Of two at one address the first stays.
  void enter_export(void* address, std::uint16_t symbol) noexcept { enter(address, symbol); }

  // The driver gives this address for the symbol as well. An export's own address stays the export's; one that is given
  // for two symbols is unknown from then on, because either hook could be the wrong one.
  void enter_alias(void* address, std::uint16_t symbol) noexcept {
    std::atomic<std::uint64_t>* slot = enter(address, symbol | alias);
    if (slot == nullptr) return;
    std::uint64_t there = slot->load(std::memory_order_acquire);
    if (symbol_in(there) == symbol || (there >> address_bits & alias) == 0) return;
    slot->store(entry_of(address, nobody | alias), std::memory_order_release);
  }

  // nobody: not in the table, or two symbols' alias.
  [[nodiscard]] std::uint16_t find(const void* address) const noexcept {
    for (std::uint32_t slot = slot_of(address), probe = 0; probe < slot_count;
         ++probe, slot = (slot + 1) % slot_count) {
      const std::uint64_t entry = entries_[slot].load(std::memory_order_acquire);
      if (entry == 0) break;
      if (is_of(entry, address)) return symbol_in(entry);
    }
    return nobody;
  }

 private:
  static constexpr int address_bits = 48;
  static constexpr std::uint16_t alias = 0x8000;
  static constexpr int hash_shift = 64 - std::bit_width(slot_count - 1);

  static std::uint64_t key_of(const void* address) noexcept { return reinterpret_cast<std::uint64_t>(address); }
  static std::uint32_t slot_of(const void* address) noexcept {
    return static_cast<std::uint32_t>((key_of(address) * 0x9e3779b97f4a7c15u) >> hash_shift);
  }
  static std::uint64_t entry_of(const void* address, std::uint16_t value) noexcept {
    return key_of(address) | static_cast<std::uint64_t>(value) << address_bits;
  }
  static bool is_of(std::uint64_t entry, const void* address) noexcept {
    return (entry << (64 - address_bits)) == (key_of(address) << (64 - address_bits));
  }
  static std::uint16_t symbol_in(std::uint64_t entry) noexcept {
    return static_cast<std::uint16_t>(entry >> address_bits) & nobody;
  }

  // Where the address's entry is now, this one or an earlier one; nullptr: no room, or no address of a program.
  std::atomic<std::uint64_t>* enter(void* address, std::uint16_t value) noexcept {
    if (address == nullptr || key_of(address) >> address_bits != 0) return nullptr;
    for (std::uint32_t slot = slot_of(address), probe = 0; probe < slot_count;
         ++probe, slot = (slot + 1) % slot_count) {
      std::uint64_t there = 0;
      if (entries_[slot].compare_exchange_strong(there, entry_of(address, value), std::memory_order_acq_rel) ||
          is_of(there, address)) {
        return &entries_[slot];
      }
    }
    return nullptr;
  }

  std::atomic<std::uint64_t> entries_[slot_count]{};
};

}  // namespace weft
