// NVTX ranges of each thread, as far as a call site needs them: the text of the innermost one that is open.
//
// Written and read by the thread itself, in NVTX's calls (hooks/nvtx.cpp) and behind a call of NCCL. Fixed memory: a
// thread that finds no place, and ranges that are too deep, have no text. No lock, no allocation.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr std::uint32_t longest_range = 63;  // bytes of a text; the rest is cut off

// nullptr: a text that cannot be read. Returns the depth at which it begins, from 0; -1: the thread has no place.
int push_range(const char* text) noexcept;
// Returns the depth of the one that ends; -1: none was open.
int pop_range() noexcept;
// "": none is open, or its text is not known.
const char* innermost_range() noexcept;

// A text that stays: the same pointer may be pushed again and again. nullptr: there is no room.
const char* keep_text(const char* text) noexcept;

}  // namespace weft
