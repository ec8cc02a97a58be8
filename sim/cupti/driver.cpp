// See the header.
#include "driver.h"

#include <dlfcn.h>

namespace simgpu::cupti {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

const Driver* load() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  CUresult (*export_table)(const void**, const CUuuid*) = nullptr;
  auto* const table = new Driver;
  static constexpr CUuuid services_id = {SIMGPU_SERVICES_UUID_BYTES};
  const void* services = nullptr;
  if (library == nullptr || !find(library, "cuStreamGetId", table->stream_id) ||
      !find(library, "cuCtxGetId", table->context_id) || !find(library, "cuCtxPushCurrent_v2", table->push) ||
      !find(library, "cuCtxPopCurrent_v2", table->pop) || !find(library, "cuCtxGetDevice", table->device_of_current) ||
      !find(library, "cuGetExportTable", export_table) || export_table(&services, &services_id) != CUDA_SUCCESS) {
    delete table;
    return nullptr;
  }
  table->services = static_cast<const simgpu_services*>(services);
  return table;
}

}  // namespace

const Driver* driver() {
  static const Driver* const table = load();
  return table;
}

}  // namespace simgpu::cupti
