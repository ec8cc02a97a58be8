// The driver as the real NCCL reaches it: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), pointers from that.
// Whoever hooks those sees this library's calls as it sees those of the real one. Any host thread; never a spin kernel.
#ifndef SIMGPU_NCCL_DRIVER_H
#define SIMGPU_NCCL_DRIVER_H

#include <cudaTypedefs.h>
#include <simgpu/kernels.h>

namespace simgpu::nccl {

struct Driver {
#define DRIVER_FUNCTION(name, version) PFN_##name##_v##version name = nullptr;
#include "driver_functions.def"
#undef DRIVER_FUNCTION
  const simgpu_services* services = nullptr;
};

// Loaded at the first call. Null, with the reason in ncclGetLastError, when there is no simulated driver.
const Driver* driver();

// Makes a context current on this thread for a while.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  CUcontext previous_ = nullptr;
};

// Makes the calls of this thread allowed while some stream is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace simgpu::nccl

#endif
