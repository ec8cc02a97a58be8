// A driver table whose functions are a few lines each: memory is host memory, launches are counted, and the test says
// when the fill stream has written its word. For tests of code that runs in the core on one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "runner/core/driver.h"

namespace weft::testing {

struct FakeGpu {
  CUresult launch_result = CUDA_SUCCESS;
  CUresult allocation_result = CUDA_SUCCESS;
  std::atomic<int> launches{0};
  std::atomic<int> allocations{0};
  std::atomic<int> releases{0};
  std::atomic<bool> unmapping_stalls{false}, mapping_stalls{false};
  CUresult access_result = CUDA_SUCCESS, unmapping_result = CUDA_SUCCESS;
  CUresult pinning_result = CUDA_SUCCESS;
  std::atomic<int> mapped{0}, addresses{0};  // blocks at this moment
  int events_recorded = 0;
  CUresult event_state = CUDA_ERROR_NOT_READY;
  CUresult stream_state = CUDA_SUCCESS;
  CUstream last_stream = nullptr;             // that memory was cleared or copied on
  std::atomic<std::uint32_t> last_number{0};  // that the fill stream was told to write
};

inline FakeGpu* fake_gpu = nullptr;

// The table; `gpu` must live as long as it is used.
inline Driver fake_driver(FakeGpu& gpu) {
  fake_gpu = &gpu;
  Driver driver;
  driver.cuGetErrorName = [](CUresult result, const char** name) {
    *name = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuStreamGetCtx = [](CUstream, CUcontext*) { return CUDA_SUCCESS; };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuMemGetAllocationGranularity = [](std::size_t* unit, const CUmemAllocationProp*,
                                            CUmemAllocationGranularity_flags) {
    *unit = 4096;
    return CUDA_SUCCESS;
  };
  driver.cuMemAddressReserve = [](CUdeviceptr* pointer, std::size_t bytes, std::size_t, CUdeviceptr,
                                  unsigned long long) {
    *pointer = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    std::memset(reinterpret_cast<void*>(*pointer), 0xab, bytes);
    ++fake_gpu->addresses;
    return CUDA_SUCCESS;
  };
  driver.cuMemAddressFree = [](CUdeviceptr pointer, std::size_t) {
    std::free(reinterpret_cast<void*>(pointer));
    --fake_gpu->addresses;
    return CUDA_SUCCESS;
  };
  driver.cuMemCreate = [](CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*, unsigned long long) {
    while (fake_gpu->mapping_stalls) std::this_thread::yield();
    if (fake_gpu->allocation_result == CUDA_SUCCESS) ++fake_gpu->allocations;
    return fake_gpu->allocation_result;
  };
  driver.cuMemRelease = [](CUmemGenericAllocationHandle) { return CUDA_SUCCESS; };
  driver.cuMemMap = [](CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
    return ++fake_gpu->mapped, CUDA_SUCCESS;
  };
  driver.cuMemSetAccess = [](CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
    return fake_gpu->access_result;
  };
  driver.cuMemUnmap = [](CUdeviceptr pointer, std::size_t bytes) {
    while (fake_gpu->unmapping_stalls) std::this_thread::yield();
    if (fake_gpu->unmapping_result != CUDA_SUCCESS) return fake_gpu->unmapping_result;
    std::memset(reinterpret_cast<void*>(pointer), 0xcd, bytes);  // the content is lost
    --fake_gpu->mapped;
    ++fake_gpu->releases;
    return CUDA_SUCCESS;
  };
  driver.cuMemsetD8Async = [](CUdeviceptr pointer, unsigned char value, std::size_t bytes, CUstream stream) {
    fake_gpu->last_stream = stream;
    std::memset(reinterpret_cast<void*>(pointer), value, bytes);
    return CUDA_SUCCESS;
  };
  driver.cuStreamQuery = [](CUstream) { return fake_gpu->stream_state; };
  driver.cuMemcpyDtoHAsync_v2 = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    fake_gpu->last_stream = stream;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    fake_gpu->last_stream = stream;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
  };
  driver.cuMemHostAlloc = [](void** pointer, std::size_t bytes, unsigned) {
    if (fake_gpu->pinning_result != CUDA_SUCCESS) return fake_gpu->pinning_result;
    ++fake_gpu->allocations;
    *pointer = std::malloc(bytes);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void* pointer) {
    ++fake_gpu->releases;
    std::free(pointer);
    return CUDA_SUCCESS;
  };
  driver.cuMemHostRegister_v2 = [](void*, std::size_t, unsigned) {
    if (fake_gpu->pinning_result == CUDA_SUCCESS) ++fake_gpu->allocations;
    return fake_gpu->pinning_result;
  };
  driver.cuMemHostUnregister = [](void*) { return ++fake_gpu->releases, CUDA_SUCCESS; };
  driver.cuMemHostGetDevicePointer_v2 = [](CUdeviceptr* device, void* host, unsigned) {
    return *device = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuGraphLaunch = [](CUgraphExec, CUstream) {
    if (fake_gpu->launch_result == CUDA_SUCCESS) ++fake_gpu->launches;
    return fake_gpu->launch_result;
  };
  driver.cuStreamWriteValue32_v2 = [](CUstream, CUdeviceptr, cuuint32_t value, unsigned) {
    fake_gpu->last_number = value;
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream) { return ++fake_gpu->events_recorded, CUDA_SUCCESS; };
  driver.cuEventQuery = [](CUevent) { return fake_gpu->event_state; };
  driver.cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
  return driver;
}

}  // namespace weft::testing
