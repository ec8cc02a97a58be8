// Which objects the driver and NCCL are; see libraries.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/libraries.h"

#include <dlfcn.h>

#include "shim/routing/elf.h"
#include "shim/routing/objects.h"

namespace weft {

constinit LoadedRange library_ranges[2]{};

namespace {

constinit std::atomic<const link_map*> homes[2]{};  // by Library

constexpr const char* so_names[2] = {"libcuda.so.1", "libnccl.so.2"};

std::size_t index_of(Library library) noexcept {
  return static_cast<std::size_t>(library);
}

}  // namespace

const link_map* home_of(Library library) noexcept {
  return homes[index_of(library)].load(std::memory_order_acquire);
}

const char* path_of(Library library) noexcept {
  const link_map* home = home_of(library);
  return home == nullptr || home->l_name == nullptr || home->l_name[0] == '\0' ? so_name_of(library) : home->l_name;
}

const char* so_name_of(Library library) noexcept {
  return so_names[index_of(library)];
}

bool is_whole(const link_map* object, Library library) noexcept {
  for (const Description& description : descriptions) {
    const bool asked_for = description.library == library && description.required;
    if (asked_for && defined_in(object, description.name) == nullptr) return false;
  }
  return true;
}

const link_map* find_home(Library library, const void* found) noexcept {
  // Hooks go to its functions for as long as the process lives, also when everybody who had opened it has closed it.
  if (void* handle = open_loaded(so_name_of(library), RTLD_NODELETE)) {
    link_map* object = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) object = nullptr;
    dlclose(handle);
    if (object != nullptr) return object;
  }
  const link_map* object = found == nullptr ? nullptr : object_of(found);
  if (object == nullptr || object == own_object() || !is_whole(object, library)) return nullptr;
  keep_loaded(object);
  return object;
}

void set_range(Library library, const link_map* home) noexcept {
  const AddressRange range = range_of(home);
  library_ranges[index_of(library)].end.store(range.end, std::memory_order_relaxed);
  library_ranges[index_of(library)].begin.store(range.begin, std::memory_order_relaxed);
}

void set_home(Library library, const link_map* home) noexcept {
  homes[index_of(library)].store(home, std::memory_order_release);
}

}  // namespace weft
