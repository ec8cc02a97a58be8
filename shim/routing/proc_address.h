// The addresses that the driver's cuGetProcAddress gives for the hooked functions.
//
// On every driver seen so far they are the exported ones, by which resolve.cpp knows a function. Nothing documented
// says that they must be: a driver may give a thunk. So it is asked once for every hooked function, by plain name,
// version and meaning of the default stream, and what it answers is a further address of that hook. Called by the hooks
// of cuGetProcAddress and before the core is loaded, on threads of the main job; two at once write the same.
#pragma once

#include <atomic>

#include "shim/routing/resolve.h"

namespace weft {

[[gnu::visibility("hidden")]] extern std::atomic<bool> aliases_learned;

void learn_aliases() noexcept;

// The name of a hooked function for which the driver gives an address that leads past the hook; nullptr: none.
const char* unroutable_function() noexcept;

// What a caller of cuGetProcAddress gets instead of this address of the driver.
inline void* route_answer(void* address) noexcept {
  if (__builtin_expect(!aliases_learned.load(std::memory_order_acquire), 0)) learn_aliases();
  return route_address(address);
}

}  // namespace weft
