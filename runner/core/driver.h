// The real CUDA driver functions that the core calls, by their exact exported names, never through a hook.
//
// Filled once, when the core starts (or by the fill probe); read by every thread of the core. Nothing here may call
// CUDA by a linked name: the core links no CUDA library. Compiled with __CUDA_API_VERSION_INTERNAL, so that each name
// in the table is the ABI of that name.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace weft {

// Without these nothing can be observed.
#define WEFT_DRIVER_FUNCTIONS_TO_OBSERVE(FUNCTION) \
  FUNCTION(cuGetErrorName)                         \
  FUNCTION(cuDeviceGet)                            \
  FUNCTION(cuDeviceGetAttribute)                   \
  FUNCTION(cuDevicePrimaryCtxGetState)             \
  FUNCTION(cuDevicePrimaryCtxRetain)               \
  FUNCTION(cuDevicePrimaryCtxRelease_v2)           \
  FUNCTION(cuCtxGetCurrent)                        \
  FUNCTION(cuCtxSetCurrent)                        \
  FUNCTION(cuCtxGetDevice)                         \
  FUNCTION(cuCtxPushCurrent_v2)                    \
  FUNCTION(cuCtxPopCurrent_v2)                     \
  FUNCTION(cuThreadExchangeStreamCaptureMode)      \
  FUNCTION(cuMemGetInfo_v2)                        \
  FUNCTION(cuMemHostRegister_v2)                   \
  FUNCTION(cuMemHostUnregister)                    \
  FUNCTION(cuMemHostGetDevicePointer_v2)

// Without these nothing can be filled.
#define WEFT_DRIVER_FUNCTIONS_TO_FILL(FUNCTION) \
  FUNCTION(cuCtxGetStreamPriorityRange)         \
  FUNCTION(cuCtxSynchronize)                    \
  FUNCTION(cuMemAlloc_v2)                       \
  FUNCTION(cuMemFree_v2)                        \
  FUNCTION(cuMemHostAlloc)                      \
  FUNCTION(cuMemFreeHost)                       \
  FUNCTION(cuMemsetD8_v2)                       \
  FUNCTION(cuMemcpyDtoH_v2)                     \
  FUNCTION(cuMemcpyHtoD_v2)                     \
  FUNCTION(cuStreamCreateWithPriority)          \
  FUNCTION(cuStreamDestroy_v2)                  \
  FUNCTION(cuStreamQuery)                       \
  FUNCTION(cuStreamBeginCapture_v2)             \
  FUNCTION(cuStreamEndCapture)                  \
  FUNCTION(cuStreamWriteValue32_v2)             \
  FUNCTION(cuEventCreate)                       \
  FUNCTION(cuEventDestroy_v2)                   \
  FUNCTION(cuEventRecord)                       \
  FUNCTION(cuEventElapsedTime)                  \
  FUNCTION(cuGraphCreate)                       \
  FUNCTION(cuGraphDestroy)                      \
  FUNCTION(cuGraphGetNodes)                     \
  FUNCTION(cuGraphGetEdges)                     \
  FUNCTION(cuGraphNodeGetType)                  \
  FUNCTION(cuGraphKernelNodeGetParams_v2)       \
  FUNCTION(cuGraphMemcpyNodeGetParams)          \
  FUNCTION(cuGraphMemsetNodeGetParams)          \
  FUNCTION(cuGraphAddKernelNode_v2)             \
  FUNCTION(cuGraphAddMemcpyNode)                \
  FUNCTION(cuGraphAddMemsetNode)                \
  FUNCTION(cuGraphKernelNodeCopyAttributes)     \
  FUNCTION(cuGraphInstantiateWithFlags)         \
  FUNCTION(cuGraphExecDestroy)                  \
  FUNCTION(cuGraphUpload)                       \
  FUNCTION(cuGraphLaunch)

struct Driver {
#define FUNCTION(name) decltype(&::name) name = nullptr;
  WEFT_DRIVER_FUNCTIONS_TO_OBSERVE(FUNCTION)
  WEFT_DRIVER_FUNCTIONS_TO_FILL(FUNCTION)
#undef FUNCTION

  std::vector<const char*> missing_to_observe;
  std::vector<const char*> missing_to_fill;

  // `symbol` gives the address of an exported function of the driver, nullptr when there is none.
  void load(void* (*symbol)(const char* name));

  std::string name_of(CUresult result) const;
};

// A set-up step that failed; what() is one line that a user can act on. Never leaves the core.
class SetUpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws SetUpError with the driver's name of the error unless `result` is CUDA_SUCCESS.
void check(const Driver& driver, CUresult result, const char* what);

// Makes a context current for a scope on a thread of the main job, without a trace left behind.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) noexcept
      : driver_(driver), pushed_(driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~CurrentContext() {
    CUcontext ignored = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&ignored);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  bool pushed() const noexcept { return pushed_; }

 private:
  const Driver& driver_;
  bool pushed_;
};

// While it lives, calls of this thread neither invalidate nor join a capture that another thread has open.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver) noexcept : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCaptureMode() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace weft
