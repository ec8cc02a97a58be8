// The list of hooks.def as a table: each symbol's name, library and hook, and the way from a name to its symbol.
//
// Read by the files of this folder, on any thread, also inside the start of a sanitizer: constant data, no libc.
#pragma once

#include "shim/routing/real.h"

namespace weft {

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
