// See the header.
#include "cli/found_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include "runner/validate/cupti.h"

namespace weft::cli {
namespace {

constexpr const char* nccl_name = "libnccl.so.2";

std::string path_of(void* handle, const char* name) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : name;
}

}  // namespace

FoundLibrary find_nccl() {
  FoundLibrary found;
  void* const handle = ::dlopen(nccl_name, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    found.fault = std::string(why != nullptr ? why : nccl_name) + " (PyTorch brings its own)";
    return found;
  }
  found.path = path_of(handle, nccl_name);
  const auto get_version = reinterpret_cast<int (*)(int*)>(::dlsym(handle, "ncclGetVersion"));
  if (get_version == nullptr || get_version(&found.version) != 0)
    found.fault = found.path + " does not tell its version";
  return found;
}

FoundLibrary find_cupti(const std::string& named, const Variables& variables) {
  cupti::Library library;
  FoundLibrary found;
  found.fault = cupti::open(named, variables, library);
  found.version = static_cast<int>(library.version);
  found.path = library.path;
  return found;
}

}  // namespace weft::cli
