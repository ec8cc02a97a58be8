// The two libraries that are hooked, the driver and NCCL: which loaded object each one is, its file, and where it lies.
//
// Found by settle_library() (real.h) at the first lookup, once, and never changed afterwards. Asked on any thread, also
// in hooks, without waiting: an object that is not known yet is no object, and nothing lies in it.
#pragma once

#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/routing/symbols.h"

namespace weft {

// The object that the library is; nullptr: not settled.
const link_map* home_of(Library library) noexcept;

// The file of the driver or of NCCL that this process uses, for messages.
const char* path_of(Library library) noexcept;

// The name that programs are linked to. Loaded with RTLD_LOCAL, as Python loads extension modules, the library is not
// in the global scope, and is found by this name.
const char* so_name_of(Library library) noexcept;

// The object has all that is required of the library: it is no interposer that stands in for a part of it.
bool is_whole(const link_map* object, Library library) noexcept;

// Looks for that object: the one of the library's usual name, else the one that `found` lies in. It stays loaded.
// nullptr: the library is not loaded.
const link_map* find_home(Library library, const void* found) noexcept;

// Called by settle_library() only: the range at its beginning, the object at its end, when all functions are known.
void set_range(Library library, const link_map* home) noexcept;
void set_home(Library library, const link_map* home) noexcept;

// Where an object lies in memory; nothing lies in {0, 0}.
struct LoadedRange {
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;

  [[gnu::always_inline]] bool contains(const void* address) const noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return value >= begin.load(std::memory_order_relaxed) && value < end.load(std::memory_order_relaxed);
  }
};

[[gnu::visibility("hidden")]] extern LoadedRange library_ranges[2];  // by Library, of the ones that are hooked

// True when the address lies in the driver that is hooked: it looks its own functions up.
inline bool in_driver(const void* address) noexcept {
  return library_ranges[static_cast<std::size_t>(Library::cuda)].contains(address);
}

// True when the address lies in the NCCL that is hooked: its own threads and its own static runtime call from there.
[[gnu::always_inline]] inline bool in_nccl(const void* address) noexcept {
  return library_ranges[static_cast<std::size_t>(Library::nccl)].contains(address);
}

}  // namespace weft
