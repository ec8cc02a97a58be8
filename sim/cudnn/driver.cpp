// Loading the table of driver functions, once per process.
#include "driver.h"

#include <dlfcn.h>

#include "numbers.h"

namespace simgpu::cudnn {
namespace {

const Driver* load() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto get = library == nullptr
                       ? nullptr
                       : reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    fail(CUDNN_STATUS_NOT_INITIALIZED, "libcuda.so.1 cannot be used: %s", dlerror());
    return nullptr;
  }
  static Driver table;
  const auto find = [&](const char* name, int version, auto& slot) {
    return get(name, reinterpret_cast<void**>(&slot), version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) == CUDA_SUCCESS &&
           slot != nullptr;
  };
#define DRIVER_FUNCTION(name, version)                                 \
  if (!find(#name, version, table.name)) {                             \
    fail(CUDNN_STATUS_NOT_INITIALIZED, "the driver has no %s", #name); \
    return nullptr;                                                    \
  }
#include "driver_functions.def"
#undef DRIVER_FUNCTION
  static constexpr CUuuid services_id = {SIMGPU_SERVICES_UUID_BYTES};
  const void* services = nullptr;
  if (table.cuGetExportTable(&services, &services_id) != CUDA_SUCCESS) {
    fail(CUDNN_STATUS_NOT_INITIALIZED, "the simulated cuDNN works with the simulated libcuda.so.1 only");
    return nullptr;
  }
  table.services = static_cast<const simgpu_services*>(services);
  return &table;
}

}  // namespace

const Driver* driver() {
  static const Driver* const table = load();
  return table;
}

}  // namespace simgpu::cudnn
