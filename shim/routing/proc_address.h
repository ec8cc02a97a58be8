// The addresses that the driver's cuGetProcAddress gives for the hooked functions.
//
// On every driver seen so far they are the exported ones, by which resolve.cpp knows a function. Nothing documented
// says that they must be: a driver may give a thunk. So it is asked once for every hooked function, by plain name,
// version and meaning of the default stream, and what it answers is a further address of that hook. Called by the hooks
// of cuGetProcAddress and before the core is loaded, on threads of the main job; two at once write the same. Where
// another interposer answers in the driver's place, its answers are what the hooks call.
#pragma once

#include <atomic>

#include "shim/routing/interposers.h"
#include "shim/routing/resolve.h"

namespace weft {

[[gnu::visibility("hidden")]] extern std::atomic<bool> aliases_learned;

void learn_aliases() noexcept;

// Puts what addresses[cuGetProcAddress_v2] gives for the hooks in place of their addresses. A function that has an
// exported name is the one of that name; one that is given for several functions stands for the first of the same
// arguments, or for none.
void prefer_entry_points(void* (&addresses)[symbol_count]) noexcept;

// The name of a required function for which `get`, a cuGetProcAddress_v2, has an answer that is not `accepted`.
const char* answered_otherwise(void* get, bool (*accepted)(std::uint16_t symbol, void* answer)) noexcept;

// The name of a hooked function for which the driver gives an address that leads past the hook; nullptr: none.
Unseen unroutable_function() noexcept;

// The answer to a caller of cuGetProcAddress in place of this address of the driver.
inline void* route_answer(void* address, const void* caller) noexcept {
  if (__builtin_expect(!aliases_learned.load(std::memory_order_acquire), 0)) learn_aliases();
  void* answer = route_address(address);
  if (answer != address) note_given(answer, caller);
  return answer;
}

}  // namespace weft
