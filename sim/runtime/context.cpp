// The state behind context.h: the thread's device and last error, and the primary contexts that this process has
// retained. Called by every function of the runtime on the application's thread. Nothing here is destroyed at exit,
// because programs call the runtime from static destructors.
#include "context.h"

#include <atomic>
#include <mutex>

#include "binaries.h"

namespace simgpu {
namespace {

constexpr int max_devices = 64;

thread_local int thread_device = 0;
thread_local cudaError_t thread_error = cudaSuccess;

constinit std::atomic<bool> unloading{false};
constinit std::mutex primary_mutex;
constinit std::atomic<CUcontext> primary[max_devices] = {};

__attribute__((destructor)) void note_unloading() {
  unloading.store(true, std::memory_order_relaxed);
}

// Errors after which nothing works in this process any more: cudaGetLastError does not clear them.
bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

cudaError_t primary_context(const Driver& table, int device, CUcontext& context) {
  if (device < 0 || device >= max_devices) {
    return cudaErrorInvalidDevice;
  }
  context = primary[device].load(std::memory_order_acquire);
  if (context != nullptr) {
    return cudaSuccess;
  }
  std::scoped_lock lock(primary_mutex);
  context = primary[device].load(std::memory_order_relaxed);
  if (context != nullptr) {
    return cudaSuccess;
  }
  CUdevice handle = 0;
  CUresult result = table.cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS) {
    result = table.cuDevicePrimaryCtxRetain(&context, handle);
  }
  if (result == CUDA_SUCCESS) {
    primary[device].store(context, std::memory_order_release);
  }
  return to_runtime(result);
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) {
    thread_error = error;
  }
  return error;
}

cudaError_t acquire_driver(const Driver*& table) {
  if (unloading.load(std::memory_order_relaxed)) {
    return cudaErrorCudartUnloading;
  }
  table = driver();
  if (table == nullptr) {
    return cudaErrorInsufficientDriver;
  }
  static const CUresult initialised = table->cuInit(0);
  return to_runtime(initialised);
}

cudaError_t acquire_context(const Driver& table) {
  CUcontext context = nullptr;
  const CUresult result = table.cuCtxGetCurrent(&context);
  if (result != CUDA_SUCCESS) {
    return to_runtime(result);
  }
  return context != nullptr ? cudaSuccess : select_device(table, thread_device);
}

cudaError_t select_device(const Driver& table, int device) {
  CUcontext context = nullptr;
  const cudaError_t error = primary_context(table, device, context);
  if (error != cudaSuccess) {
    return error;
  }
  const CUresult result = table.cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS) {
    thread_device = device;
  }
  return to_runtime(result);
}

cudaError_t current_device(const Driver& table, int& device) {
  CUcontext context = nullptr;
  CUresult result = table.cuCtxGetCurrent(&context);
  if (result == CUDA_SUCCESS && context != nullptr) {
    CUdevice handle = 0;
    result = table.cuCtxGetDevice(&handle);
    device = handle;
  } else if (result == CUDA_SUCCESS) {
    device = thread_device;
  }
  return to_runtime(result);
}

cudaError_t reset_device(const Driver& table) {
  int device = 0;
  const cudaError_t error = current_device(table, device);
  if (error != cudaSuccess || device >= max_devices) {
    return error;
  }
  std::scoped_lock lock(primary_mutex);
  if (primary[device].exchange(nullptr) != nullptr) {
    table.cuDevicePrimaryCtxRelease(device);
  }
  table.cuCtxSetCurrent(nullptr);
  binaries().forget_addresses();
  thread_error = cudaSuccess;
  return to_runtime(table.cuDevicePrimaryCtxReset(device));
}

}  // namespace simgpu

cudaError_t cudaGetLastError() {
  const cudaError_t error = simgpu::thread_error;
  if (!simgpu::is_sticky(error)) {
    simgpu::thread_error = cudaSuccess;
  }
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return simgpu::thread_error;
}
