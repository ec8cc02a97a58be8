// Other interposers in this process, such as vGPU memory limits and profilers: whether calls go past our hooks because
// of them, and which library that is.
//
// One behind us is a part of what the hooks call. One in front of us is asked before us, and our hooks are called only
// if it comes to us for the functions that it stands in for. Fed by every lookup that we answer, on any thread; asked
// before the core is loaded.
#pragma once

#include <cstdint>

namespace weft {

// A hook where `found` is what it calls, else `found`; and who asked, and what we could not answer, is remembered.
void* answer_for(std::uint16_t symbol, void* found, const void* caller) noexcept;

// Somebody was given this hook by cuGetProcAddress.
void note_given(const void* hook, const void* caller) noexcept;

// A function whose calls we would not see, or not all of them, and the library that is why; no function: none.
struct Unseen {
  const char* function;
  const char* library;  // nullptr: the driver itself
};
Unseen find_unseen() noexcept;

// The file that the address lies in, for messages.
const char* library_name(const void* address) noexcept;

// The address lies in a library between the main program and us that defines the name itself.
bool stands_in_front(const void* address, const char* name) noexcept;

}  // namespace weft
