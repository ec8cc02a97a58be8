// A libcuda.so.1 for the benchmark that does nothing: what is left of a hooked call is then the hook. Every stream
// stands still, since it writes no marker; the core does, between two rounds. The functions that hooks.def requires are there already (see
// tests/shim/fake/required_functions.S), as functions that do nothing; here are those that answer, and the others.
#include "shim/routing/vendor.h"

#define NOTHING(name, ...)     \
  CUresult name(__VA_ARGS__) { \
    return CUDA_SUCCESS;       \
  }

extern "C" {
#pragma GCC visibility push(default)
NOTHING(cuInit, unsigned int)
CUresult cuDriverGetVersion(int* version) {
  return *version = 13000, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static char only;
  return *context = reinterpret_cast<CUcontext>(&only), CUDA_SUCCESS;
}
NOTHING(cuCtxSetCurrent, CUcontext)
CUresult cuCtxGetDevice(CUdevice* device) {
  return *device = 0, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  return *stream = reinterpret_cast<CUstream>(new long), CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  return *event = reinterpret_cast<CUevent>(new long), CUDA_SUCCESS;
}
NOTHING(cuStreamWaitValue32_v2, CUstream, CUdeviceptr, cuuint32_t, unsigned int)
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return cuStreamCreate(stream, flags);
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int) {
  return *memory = new char[bytes](), CUDA_SUCCESS;
}
NOTHING(cuLaunchKernel, CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
        unsigned int, CUstream, void**, void**)
NOTHING(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void*, size_t, CUstream)
CUresult cuGetProcAddress_v2(const char*, void** found, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  return *found = reinterpret_cast<void*>(&cuEventRecord), CUDA_SUCCESS;
}
}
#pragma GCC visibility pop
