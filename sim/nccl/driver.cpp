// Loading the table of driver functions, once per process.
#include "driver.h"

#include <dlfcn.h>

#include "errors.h"

namespace simgpu::nccl {
namespace {

// cuda.h renames some functions; the names asked for are the plain ones.
struct Wanted {
  const char* name;
  int version;
};
constexpr Wanted wanted[] = {
#define DRIVER_FUNCTION(name, version) {#name, version},
#include "driver_functions.def"
#undef DRIVER_FUNCTION
};

const Driver* load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    fail(ncclUnhandledCudaError, "libcuda.so.1 cannot be loaded: %s", dlerror());
    return nullptr;
  }
  const auto get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    fail(ncclUnhandledCudaError, "libcuda.so.1 has no cuGetProcAddress_v2");
    return nullptr;
  }
  auto* table = new Driver;
  void** const slots[] = {
#define DRIVER_FUNCTION(name, version) reinterpret_cast<void**>(&table->name),
#include "driver_functions.def"
#undef DRIVER_FUNCTION
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
    if (get(wanted[i].name, slots[i], wanted[i].version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS ||
        *slots[i] == nullptr) {
      fail(ncclUnhandledCudaError, "the driver has no %s", wanted[i].name);
      return nullptr;
    }
  }
  static constexpr CUuuid services_id = {SIMGPU_SERVICES_UUID_BYTES};
  const void* services = nullptr;
  if (table->cuGetExportTable(&services, &services_id) != CUDA_SUCCESS) {
    fail(ncclUnhandledCudaError, "the simulated NCCL works with the simulated libcuda.so.1 only");
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

ContextScope::ContextScope(CUcontext context) {
  driver()->cuCtxGetCurrent(&previous_);
  driver()->cuCtxSetCurrent(context);
}

ContextScope::~ContextScope() {
  driver()->cuCtxSetCurrent(previous_);
}

RelaxedCapture::RelaxedCapture() {
  driver()->cuThreadExchangeStreamCaptureMode(&mode_);
}

RelaxedCapture::~RelaxedCapture() {
  driver()->cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace simgpu::nccl
