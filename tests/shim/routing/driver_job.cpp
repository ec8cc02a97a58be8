// Asks the driver itself for every hooked name at every version and flag, as a program without the runtime does.
#include <dlfcn.h>

#include <string>

#include "shim/routing/vendor.h"
#include "tests/shim/routing/names.h"

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 1;
  using Get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto get = reinterpret_cast<Get>(dlsym(driver, "cuGetProcAddress_v2"));
  for (const char* name : asked_names) {
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
