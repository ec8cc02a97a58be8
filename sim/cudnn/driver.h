// The driver as the real cuDNN reaches it: through cuGetProcAddress, past every name that a program could replace.
//
// Used by launch.cpp and api_handle.cpp on the program's threads.
#ifndef SIMGPU_CUDNN_DRIVER_H
#define SIMGPU_CUDNN_DRIVER_H

#include <cudaTypedefs.h>
#include <simgpu/kernels.h>

namespace simgpu::cudnn {

struct Driver {
#define DRIVER_FUNCTION(name, version) PFN_##name##_v##version name = nullptr;
#include "driver_functions.def"
#undef DRIVER_FUNCTION
  const simgpu_services* services = nullptr;
};

// Loaded at the first call. Null, with the reason in cudnnGetLastErrorString, when there is no simulated driver.
const Driver* driver();

}  // namespace simgpu::cudnn

#endif
