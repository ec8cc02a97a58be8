// The driver's entry points as the runtime holds them. Every source of the runtime reaches the driver through this
// table; nothing here may name a cu* symbol, so that whoever hooks dlsym or cuGetProcAddress sees what it sees with the
// real runtime. Loaded once, on the thread of the first call that needs it; read only afterwards.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

namespace simgpu {

// Which stream the handle 0 means; also the index into the entries that exist in both variants.
enum DefaultStream { legacy = 0, per_thread = 1 };

template <class Function>
class Entry;

template <class... Parameters>
class Entry<CUresult(CUDAAPI*)(Parameters...)> {
 public:
  using Function = CUresult(CUDAAPI*)(Parameters...);
  void set(void* address) { address_ = reinterpret_cast<Function>(address); }
  CUresult operator()(Parameters... parameters) const {
    return address_ != nullptr ? address_(parameters...) : CUDA_ERROR_NOT_SUPPORTED;
  }

 private:
  Function address_ = nullptr;
};

struct Driver {
  Entry<PFN_cuGetProcAddress_v12000> cuGetProcAddress;
#define SIMGPU_DRIVER(name, version) Entry<PFN_##name##_v##version> name;
#define SIMGPU_DRIVER_PAIR(name, version, per_thread_version, suffix) \
  Entry<PFN_##name##_v##version> name[2];                             \
  static_assert(sizeof(PFN_##name##_v##per_thread_version##_##suffix) == sizeof(PFN_##name##_v##version));
#include "driver_functions.def"
#undef SIMGPU_DRIVER
#undef SIMGPU_DRIVER_PAIR
};

// The table, or nullptr when there is no libcuda.so.1 with cuGetProcAddress_v2.
const Driver* driver();

}  // namespace simgpu
