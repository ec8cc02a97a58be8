// Reads the symbol tables of loaded objects without calling anybody: no libc, no lock, no allocation.
//
// Used by next_dlsym.cpp to find the real dlsym before anything else works (also inside the start of a sanitizer), and
// all hooked names of libcuda and libnccl at once. Any thread. The object must stay loaded meanwhile.
#pragma once

#include <link.h>

#include <cstdint>

namespace weft {

// The address of a function that `object` itself defines, or nullptr. Of several versions the default one.
void* defined_in(const link_map* object, const char* name) noexcept;

// `object` has a reference to a symbol of that name that it does not define itself.
bool refers_to(const link_map* object, const char* name) noexcept;

// The addresses that the loaded segments of the object cover.
struct AddressRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};
AddressRange range_of(const link_map* object) noexcept;

// Our own entry in the list of loaded objects; nullptr when the list cannot be read.
const link_map* own_object() noexcept;

}  // namespace weft
