// Routing: which answer of dlsym or cuGetProcAddress is replaced by a hook, and where the real functions are.
//
// An answer is replaced only when it *is* an address of the very symbol that a hook stands for: the one that the
// library exports, or one that the driver's own cuGetProcAddress gives for it (see proc_address.h). So version and
// stream ABI are right by construction, and whatever we do not know goes through untouched. Any thread; wait-free after
// the first lookup of a library; adopting one twice at the same time writes the same values.
#pragma once

#include "shim/routing/real.h"

namespace weft {

// What the caller of cuGetProcAddress is to get for this address of the driver: a hook, or the address itself.
void* route_address(void* address) noexcept;

// That hook is the symbol's own.
bool is_routed(Symbol symbol, void* address) noexcept;

// A loaded object exports a function at this very address.
bool is_exported(const void* address) noexcept;

// The driver gives this address for the symbol, besides the one it exports. Does nothing when the address is an export.
void learn_alias(Symbol symbol, void* address) noexcept;

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

// True when the address lies in the NCCL that is hooked: its own threads and its own static runtime call from there.
[[gnu::always_inline]] inline bool in_nccl(const void* address) noexcept {
  return library_ranges[static_cast<std::size_t>(Library::nccl)].contains(address);
}

// dlsym past every hook of ours.
void* real_dlsym(void* handle, const char* name) noexcept;

// The real function of an exact driver name, for the core; nullptr: none.
void* real_driver_symbol(const char* name) noexcept;

// The object that `address` belongs to, as a handle for real_dlsym; nullptr when that is the main program.
void* object_handle(const void* address) noexcept;

}  // namespace weft
