// A libcuda.so.1 for the benchmark that does nothing: what is left of a hooked call is then the hook. Every stream
// stands still, since no marker is ever written.
#include "shim/vendor.h"

extern "C" {
#pragma GCC visibility push(default)
CUresult cuInit(unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  return *version = 13000, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static char only;
  return *context = reinterpret_cast<CUcontext>(&only), CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return *device = 0, CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, 0);
}
CUresult cuCtxPushCurrent_v2(CUcontext) {
  return CUDA_SUCCESS;
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
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int) {
  return CUDA_SUCCESS;
}

CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent_ptsz(CUstream, CUevent, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuEventRecord_ptsz(CUevent, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent, CUstream, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags_ptsz(CUevent, CUstream, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize_ptsz(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) {
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return cuStreamCreate(stream, flags);
}
CUresult cuStreamDestroy_v2(CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream, CUstreamCaptureMode) {
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) {
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture_ptsz(CUstream, CUgraph*) {
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocPitch_v2(CUdeviceptr*, size_t*, size_t, size_t, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocManaged(CUdeviceptr*, size_t, unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr*, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr*, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr*, size_t, CUmemoryPool, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long) {
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int) {
  return *memory = new char[bytes](), CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult cuGetProcAddress_v2(const char*, void** found, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  return *found = reinterpret_cast<void*>(&cuEventRecord), CUDA_SUCCESS;
}
}
#pragma GCC visibility pop
