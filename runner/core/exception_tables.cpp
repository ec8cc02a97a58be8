// See exception_tables.h.
#include "runner/core/exception_tables.h"

#include <dlfcn.h>
#include <features.h>

namespace weft {

#if defined(WEFT_OWN_UNWINDER) && __GLIBC_PREREQ(2, 35)
extern "C" [[gnu::visibility("hidden")]] void weft_use_dl_find_object(int (*)(void*, dl_find_object*));

// Another library may have a function of that name, which says something else.
void find_exception_tables_without_lock() {
  void* const function = ::dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
  if (function == nullptr) return;
  const auto find = reinterpret_cast<int (*)(void*, dl_find_object*)>(function);
  void* const own = reinterpret_cast<void*>(&find_exception_tables_without_lock);
  dl_find_object found{};
  if (find(own, &found) == 0 && found.dlfo_eh_frame != nullptr && found.dlfo_map_start <= own &&
      own < found.dlfo_map_end)
    weft_use_dl_find_object(find);
}
#else
void find_exception_tables_without_lock() {}
#endif

}  // namespace weft
