// Writes down what a program under libweft.so gets from cuGetProcAddress: for each hooked name at each version and flag
// the hook it is given, or "driver". answers.sh compares what two drivers make of it.
#include <dlfcn.h>

#include <cstdio>
#include <set>
#include <string>

#include "shim/routing/vendor.h"
#include "tests/shim/routing/hook_symbols.h"
#include "tests/shim/routing/names.h"

namespace {

std::string owner_of(void* address) {
  if (address == nullptr) return "none";
  Dl_info info{};
  void* object = nullptr;
  if (dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0) return "unknown";
  if (!std::string(info.dli_fname).ends_with("/libweft.so")) return "driver";
  static const auto functions = functions_of(static_cast<const link_map*>(object));
  for (const auto& [name, function] : functions) {
    if (function == address) return name;
  }
  return "inside a hook";
}

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 1;
  using Get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto get = reinterpret_cast<Get>(dlsym(driver, "cuGetProcAddress_v2"));
  if (get == nullptr) return 1;
  std::set<std::string> bases;
  for (const char* name : asked_names) bases.insert(base_of(name));
  for (const std::string& base : bases) {
    for (int version = 2000; version <= CUDA_VERSION; version += 10) {
      for (cuuint64_t flags = 0; flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; ++flags) {
        // Per-thread default streams are of CUDA 7: before, the shim asks nothing, because nobody else would.
        if (version < 7000 && flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) continue;
        void* found = nullptr;
        if (get(base.c_str(), &found, version, flags, nullptr) != CUDA_SUCCESS) continue;
        std::printf("%s %d %d %s\n", base.c_str(), version, static_cast<int>(flags), owner_of(found).c_str());
      }
    }
  }
  return 0;
}
