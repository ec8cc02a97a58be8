// Finds the driver the way the real runtime does: dlopen, one dlsym, and cuGetProcAddress_v2 for all the rest, with the
// version of each ABI and, where the default stream matters, once for each of its two meanings. Runs once, on the first
// caller's thread.
#include "driver.h"

#include <dlfcn.h>

namespace simgpu {
namespace {

void* find(const Driver& driver, const char* name, int version, cuuint64_t flags) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result = driver.cuGetProcAddress(name, &address, version, flags, &status);
  return result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS ? address : nullptr;
}

const Driver* load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* get_proc_address = library != nullptr ? dlsym(library, "cuGetProcAddress_v2") : nullptr;
  if (get_proc_address == nullptr) {
    return nullptr;
  }
  static Driver driver;
  driver.cuGetProcAddress.set(get_proc_address);
  constexpr cuuint64_t as_legacy = CU_GET_PROC_ADDRESS_DEFAULT;
  constexpr cuuint64_t as_per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#define SIMGPU_DRIVER(name, version) driver.name.set(find(driver, #name, version, as_legacy));
#define SIMGPU_DRIVER_PAIR(name, version, per_thread_version, suffix) \
  driver.name[legacy].set(find(driver, #name, version, as_legacy));   \
  driver.name[per_thread].set(find(driver, #name, per_thread_version, as_per_thread));
#include "driver_functions.def"
#undef SIMGPU_DRIVER
#undef SIMGPU_DRIVER_PAIR
  return &driver;
}

}  // namespace

const Driver* driver() {
  static const Driver* const table = load();
  return table;
}

}  // namespace simgpu
