// Another library that stands in for dlsym, and counts what passes through it. It finds the one behind it by walking
// the loaded objects, and calls it (it does not jump: that is its fault, and not to matter here).
#include <link.h>

#include <cstddef>

#include "shim/routing/elf.h"

extern "C" {
__attribute__((visibility("default"))) int other_dlsym_calls = 0;

__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  ++other_dlsym_calls;
  for (const link_map* object = weft::own_object()->l_next; object != nullptr; object = object->l_next) {
    if (void* next = weft::defined_in(object, "dlsym")) {
      return reinterpret_cast<void* (*)(void*, const char*)>(next)(handle, name);
    }
  }
  return nullptr;
}
}
