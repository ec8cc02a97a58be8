// A libcuda.so.1 for the benchmark that does nothing: what is left of a hooked call is then the hook. Every stream
// stands still, since no marker is ever written.
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
NOTHING(cuCtxPushCurrent_v2, CUcontext)
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
NOTHING(cuStreamQuery, CUstream)
CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  return *stream = reinterpret_cast<CUstream>(new long), CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  return *event = reinterpret_cast<CUevent>(new long), CUDA_SUCCESS;
}
NOTHING(cuStreamWaitValue32_v2, CUstream, CUdeviceptr, cuuint32_t, unsigned int)
NOTHING(cuStreamWriteValue32_v2, CUstream, CUdeviceptr, cuuint32_t, unsigned int)
NOTHING(cuStreamWaitEvent, CUstream, CUevent, unsigned int)
NOTHING(cuStreamWaitEvent_ptsz, CUstream, CUevent, unsigned int)
NOTHING(cuEventRecord, CUevent, CUstream)
NOTHING(cuEventRecord_ptsz, CUevent, CUstream)
NOTHING(cuEventRecordWithFlags, CUevent, CUstream, unsigned int)
NOTHING(cuEventRecordWithFlags_ptsz, CUevent, CUstream, unsigned int)
NOTHING(cuStreamSynchronize, CUstream)
NOTHING(cuStreamSynchronize_ptsz, CUstream)
NOTHING(cuEventSynchronize, CUevent)
NOTHING(cuCtxSynchronize)
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return cuStreamCreate(stream, flags);
}
NOTHING(cuStreamDestroy_v2, CUstream)
NOTHING(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)
NOTHING(cuStreamBeginCapture_v2_ptsz, CUstream, CUstreamCaptureMode)
NOTHING(cuStreamEndCapture, CUstream, CUgraph*)
NOTHING(cuStreamEndCapture_ptsz, CUstream, CUgraph*)
NOTHING(cuCtxDestroy_v2, CUcontext)
NOTHING(cuDevicePrimaryCtxRelease_v2, CUdevice)
NOTHING(cuDevicePrimaryCtxReset_v2, CUdevice)
NOTHING(cuMemAlloc_v2, CUdeviceptr*, size_t)
NOTHING(cuMemAllocPitch_v2, CUdeviceptr*, size_t*, size_t, size_t, unsigned int)
NOTHING(cuMemAllocManaged, CUdeviceptr*, size_t, unsigned int)
NOTHING(cuMemAllocAsync, CUdeviceptr*, size_t, CUstream)
NOTHING(cuMemAllocAsync_ptsz, CUdeviceptr*, size_t, CUstream)
NOTHING(cuMemAllocFromPoolAsync, CUdeviceptr*, size_t, CUmemoryPool, CUstream)
NOTHING(cuMemAllocFromPoolAsync_ptsz, CUdeviceptr*, size_t, CUmemoryPool, CUstream)
NOTHING(cuMemCreate, CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long)
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int) {
  return *memory = new char[bytes](), CUDA_SUCCESS;
}
NOTHING(cuLaunchKernel, CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
        unsigned int, CUstream, void**, void**)
CUresult cuGetProcAddress_v2(const char*, void** found, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  return *found = reinterpret_cast<void*>(&cuEventRecord), CUDA_SUCCESS;
}
}
#pragma GCC visibility pop
