// Questions to ld.so about loaded objects; see objects.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/objects.h"

#include <dlfcn.h>

namespace weft {

const link_map* object_of(const void* address) noexcept {
  Dl_info info;
  void* object = nullptr;
  return dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0 ? nullptr : static_cast<const link_map*>(object);
}

void* object_handle(const void* address) noexcept {
  const link_map* object = address == nullptr ? nullptr : object_of(address);
  return object == nullptr ? nullptr : open_loaded(object->l_name);
}

void* open_loaded(const char* name, int flags) noexcept {
  return name == nullptr || name[0] == '\0' ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD | flags);
}

void keep_loaded(const link_map* object) noexcept {
  if (object == nullptr || object->l_name == nullptr || object->l_name[0] == '\0') return;
  if (void* handle = open_loaded(object->l_name, RTLD_NODELETE)) dlclose(handle);
}

bool is_ours(const void* address) noexcept {
  const link_map* object = address == nullptr ? nullptr : object_of(address);
  return object != nullptr && object->l_ld == _DYNAMIC;
}

const char* exported_name(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_saddr == address ? info.dli_sname : nullptr;
}

bool comes_before(const link_map* first, const link_map* second) noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr && object != second; object = object->l_next) {
    if (object == first) return true;
  }
  return false;
}

}  // namespace weft
