// The functions that stand behind the hooks: real<Symbol::cuEventRecord>() is the driver's cuEventRecord, typed, or
// that of another interposer which the program would have got in its place.
//
// Any thread, also in hooks: one load when the address is known. The first call may look it up. A function that exists
// nowhere in the process answers "not found" when called; it never crashes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/routing/vendor.h"

namespace weft {

enum class Library : std::uint8_t { cuda, nccl };
enum class Presence : std::uint8_t { required, optional };

enum class Symbol : std::uint16_t {
#define HOOK(library, name, presence, ...) name,
#define CALL(library, name, presence) name,
#include "shim/hooks.def"
#undef HOOK
#undef CALL
  count
};
inline constexpr std::size_t symbol_count = static_cast<std::size_t>(Symbol::count);

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

// The file of the driver or of NCCL that this process uses, for messages.
const char* path_of(Library library) noexcept;

}  // namespace weft
