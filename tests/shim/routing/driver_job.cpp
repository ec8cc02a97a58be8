// Asks the driver itself for every hooked name at every version and flag, as a program without the runtime does.
#include <dlfcn.h>

#include <string>

#include "shim/vendor.h"

namespace {

const char* const names[] = {
#define HOOK(library, name, presence, ...) #name,
#define CALL(library, name, presence) #name,
#include "shim/hooks.def"
#undef HOOK
#undef CALL
    "cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "cuMemFree", "cuMemcpyAsync", "cuNoSuchFunction", ""};

std::string base_of(std::string name) {
  for (const char* suffix : {"_ptsz", "_v2"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
  }
  return name;
}

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 1;
  using Get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto get = reinterpret_cast<Get>(dlsym(driver, "cuGetProcAddress_v2"));
  for (const char* name : names) {
    (void)dlsym(driver, name);
    for (const int version :
         {2000, 3020, 4000, 7000, 10000, 10010, 11000, 11020, 11030, 12000, 12030, 12080, 13000, 13010}) {
      for (cuuint64_t flags = 0; flags < 4; ++flags) {
        void* found = nullptr;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        get(base_of(name).c_str(), &found, version, flags, &status);
        get(base_of(name).c_str(), &found, version, flags, nullptr);
      }
    }
  }
  return 0;
}
