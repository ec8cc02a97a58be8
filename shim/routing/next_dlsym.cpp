// The dlsym functions behind ours; see next_dlsym.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/next_dlsym.h"

#include <dlfcn.h>

#include "shim/routing/elf.h"

extern "C" {
void* (*weft_real_dlsym)(void*, const char*) = nullptr;
}

namespace weft {
namespace {

using Dlsym = void* (*)(void*, const char*);

// A versioned lookup passes over every other library that defines the name.
Dlsym find_libc_dlsym() noexcept {
  static constinit Dlsym kept = nullptr;
  Dlsym found = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (found != nullptr) return found;
  found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  __atomic_store_n(&kept, found, __ATOMIC_RELEASE);
  return found;
}

// The first object after ours that defines dlsym: another interposer, or libc.
void find_real_dlsym() noexcept {
  const link_map* own = own_object();
  for (const link_map* object = own == nullptr ? nullptr : own->l_next; object != nullptr; object = object->l_next) {
    if (void* found = defined_in(object, "dlsym")) {
      __atomic_store_n(&weft_real_dlsym, reinterpret_cast<Dlsym>(found), __ATOMIC_RELEASE);
      return;
    }
  }
  __atomic_store_n(&weft_real_dlsym, find_libc_dlsym(), __ATOMIC_RELEASE);
}

}  // namespace

void know_real_dlsym() noexcept {
  if (__builtin_expect(__atomic_load_n(&weft_real_dlsym, __ATOMIC_ACQUIRE) == nullptr, 0)) find_real_dlsym();
}

void* real_dlsym(void* handle, const char* name) noexcept {
  know_real_dlsym();
  return weft_real_dlsym(handle, name);
}

bool another_dlsym() noexcept {
  know_real_dlsym();
  return weft_real_dlsym != find_libc_dlsym();
}

void* libc_dlsym(void* handle, const char* name) noexcept {
  return find_libc_dlsym()(handle, name);
}

}  // namespace weft
