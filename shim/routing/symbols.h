// The list of hooks.def as types and as a table: the number of each symbol; its name, library and hook; and the way
// from a name to its symbol.
//
// Read on any thread, also inside the start of a sanitizer: constant data, no libc.
#pragma once

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

struct Description {
  const char* name;
  void* hook;  // nullptr: only called
  Library library;
  bool required;
};

[[gnu::visibility("hidden")]] extern const Description descriptions[symbol_count];

inline constexpr std::uint16_t no_symbol = 0xffff;

// The hook of that exact name; no_symbol: none.
std::uint16_t hook_named(const char* name) noexcept;

inline bool same_name(const char* left, const char* right) noexcept {
  while (*left != '\0' && *left == *right) ++left, ++right;
  return *left == *right;
}

}  // namespace weft
