// Routing: which answer of dlsym or cuGetProcAddress is replaced by a hook, and where a linked reference goes.
//
// One rule: an answer is replaced only when it *is* the function that the hook calls (real.h), or an address that
// cuGetProcAddress gives for the same symbol (proc_address.h). So version and stream ABI are right by construction, an
// interposer that looks the driver up gets the driver, and whatever we do not know goes through untouched. Any thread;
// wait-free after the first lookup of a library; settling one twice at the same time writes the same values.
#pragma once

#include <link.h>

#include "shim/routing/real.h"

namespace weft {

// Finds out what stands behind every symbol of the library, once. `found`: an address in it, for a library under
// another name than the usual one. Does nothing when the library is not loaded, or inside itself.
void settle(Library library, const void* found) noexcept;
bool is_settling() noexcept;

// The object that the library is; nullptr: not settled.
const link_map* home_of(Library library) noexcept;

// The object has all that is required of the library: it is no interposer that stands in for a part of it.
bool is_whole(const link_map* object, Library library) noexcept;

// A hook where `found` is what the hook calls, else `found`.
void* routed(std::uint16_t symbol, void* found) noexcept;

// The answer to the caller of cuGetProcAddress for this address of the driver: a hook, or the address itself.
void* route_address(void* address) noexcept;

// That hook is the symbol's own.
bool is_routed(Symbol symbol, void* address) noexcept;

// The driver gives this address for the symbol, besides the one it exports. Does nothing when the address is an export.
void learn_alias(Symbol symbol, void* address) noexcept;

// The function that a reference to the symbol from the object that `caller` lies in would be bound to without us;
// nullptr: nothing.
void* link_target(std::uint16_t symbol, const void* caller) noexcept;

// A function that says that the library has no such function.
void* absent(Library library) noexcept;

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

// The dlsym that comes behind ours: libc's, or another interposer's.
void* real_dlsym(void* handle, const char* name) noexcept;
void know_real_dlsym() noexcept;

// An interposer that stands in for dlsym comes behind us.
bool another_dlsym() noexcept;

// libc's own dlsym, past every interposer.
void* libc_dlsym(void* handle, const char* name) noexcept;

// The driver function of an exact name, for the core; nullptr: none.
void* real_driver_symbol(const char* name) noexcept;

// The object that `address` belongs to, and the same as a handle for real_dlsym; nullptr: none, or, for the handle, the
// main program.
const link_map* object_of(const void* address) noexcept;

// The object stays loaded for the rest of the process, whoever closes it.
void keep_loaded(const link_map* object) noexcept;
void* object_handle(const void* address) noexcept;

// The address is a hook, or an entry of ours that is linked to.
bool is_ours(const void* address) noexcept;

// The name under which the address is exported; nullptr: under none.
const char* exported_name(const void* address) noexcept;

}  // namespace weft

extern "C" [[gnu::visibility("hidden")]] void* (*weft_real_dlsym)(void*, const char*);  // dlsym_entry.S goes there
