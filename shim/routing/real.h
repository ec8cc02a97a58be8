// The functions that stand behind the hooks: real<Symbol::cuEventRecord>() is the driver's cuEventRecord, typed, or
// that of another interposer which the program would have got in its place.
//
// Any thread, also in hooks: one load when the address is known. The first call may look it up. A function that exists
// nowhere in the process answers "not found" when called; it never crashes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/routing/symbols.h"
#include "shim/routing/vendor.h"

namespace weft {

template <Symbol symbol>
struct SymbolType;
#define HOOK(library, name, presence, ...) \
  template <>                              \
  struct SymbolType<Symbol::name> {        \
    using Function = decltype(&::name);    \
  };
#define CALL(library, name, presence) HOOK(library, name, presence)
#include "shim/hooks.def"
#undef HOOK
#undef CALL

// Zero until known. Written with the same value by whoever looks it up.
[[gnu::visibility("hidden")]] extern std::atomic<void*> real_addresses[symbol_count];

// Finds the address, or a function that answers with an error. `caller`: a return address in the calling object.
void* find_real(Symbol symbol, const void* caller) noexcept;

template <Symbol symbol>
[[gnu::always_inline]] inline typename SymbolType<symbol>::Function real() noexcept {
  void* address = real_addresses[static_cast<std::size_t>(symbol)].load(std::memory_order_acquire);
  if (__builtin_expect(address == nullptr, 0)) address = find_real(symbol, __builtin_return_address(0));
  return reinterpret_cast<typename SymbolType<symbol>::Function>(address);
}

// True when the process has that function.
bool has_real(Symbol symbol) noexcept;

// The driver function of an exact name, for the core; nullptr: none.
void* real_driver_symbol(const char* name) noexcept;

// The function that a reference to the symbol from the object that `caller` lies in would be bound to without us;
// nullptr: nothing.
void* link_target(std::uint16_t symbol, const void* caller) noexcept;

// A function that says that the library has no such function.
void* absent(Library library) noexcept;

// Finds out what stands behind every symbol of the library, once. `found`: an address in it, for a library under
// another name than the usual one. Does nothing when the library is not loaded, or inside itself.
void settle_library(Library library, const void* found) noexcept;
bool is_settling_library() noexcept;

}  // namespace weft
