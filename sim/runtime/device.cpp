// Versions, devices, limits and synchronisation of the device. Called on the application's thread.
#include <cuda_profiler_api.h>

#include "context.h"

using simgpu::Driver;
using simgpu::with_context;
using simgpu::with_driver;

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) {
    return simgpu::remember(cudaErrorInvalidValue);
  }
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) {
    return simgpu::remember(cudaErrorInvalidValue);
  }
  const Driver* driver = simgpu::driver();
  *version = 0;
  return driver == nullptr ? cudaSuccess : simgpu::remember(simgpu::to_runtime(driver->cuDriverGetVersion(version)));
}

cudaError_t cudaGetDeviceCount(int* count) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceGetCount(count); });
}

cudaError_t cudaSetDevice(int device) {
  return with_driver([&](const Driver& driver) { return simgpu::select_device(driver, device); });
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  return with_driver([&](const Driver& driver) {
    if (flags > cudaInitDeviceFlagsAreValid) {
      return cudaErrorInvalidValue;
    }
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
      const CUresult result = driver.cuDevicePrimaryCtxSetFlags(device, device_flags & ~unsigned{cudaDeviceMapHost});
      if (result != CUDA_SUCCESS) {
        return simgpu::to_runtime(result);
      }
    }
    int before = 0;
    cudaError_t error = simgpu::current_device(driver, before);
    if (error == cudaSuccess) {
      error = simgpu::select_device(driver, device);
    }
    return error == cudaSuccess ? simgpu::select_device(driver, before) : error;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return with_driver([&](const Driver& driver) {
    return device == nullptr ? cudaErrorInvalidValue : simgpu::current_device(driver, *device);
  });
}

cudaError_t cudaSetValidDevices(int* devices, int length) {
  return with_driver([&](const Driver& driver) {
    int count = 0;
    const CUresult result = driver.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS || length < 0 || (length > 0 && devices == nullptr)) {
      return result != CUDA_SUCCESS ? simgpu::to_runtime(result) : cudaErrorInvalidValue;
    }
    for (int i = 0; i < length; ++i) {
      if (devices[i] < 0 || devices[i] >= count) {
        return cudaErrorInvalidDevice;
      }
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceReset() {
  return with_driver([](const Driver& driver) { return simgpu::reset_device(driver); });
}

SIMGPU_FORWARD(cudaDeviceSynchronize, (), driver.cuCtxSynchronize())

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return with_driver([&](const Driver& driver) {
    int device = 0;
    const cudaError_t error = simgpu::current_device(driver, device);
    // Mapping host memory is always on; the driver does not know the flag.
    return error != cudaSuccess
               ? error
               : simgpu::to_runtime(driver.cuDevicePrimaryCtxSetFlags(device, flags & ~unsigned{cudaDeviceMapHost}));
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return with_driver([&](const Driver& driver) {
    int device = 0;
    int active = 0;
    const cudaError_t error = simgpu::current_device(driver, device);
    if (error != cudaSuccess || flags == nullptr) {
      return error != cudaSuccess ? error : cudaErrorInvalidValue;
    }
    const CUresult result = driver.cuDevicePrimaryCtxGetState(device, flags, &active);
    *flags |= cudaDeviceMapHost;
    return simgpu::to_runtime(result);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return with_driver([&](const Driver& driver) {
    return driver.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceGetByPCIBusId(device, bus_id); });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceGetPCIBusId(bus_id, length, device); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceCanAccessPeer(can_access, device, peer); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  return with_driver([&](const Driver& driver) {
    return driver.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute), source, destination);
  });
}

SIMGPU_FORWARD(cudaDeviceGetLimit, (size_t * value, cudaLimit limit),
               driver.cuCtxGetLimit(value, static_cast<CUlimit>(limit)))
SIMGPU_FORWARD(cudaDeviceSetLimit, (cudaLimit limit, size_t value),
               driver.cuCtxSetLimit(static_cast<CUlimit>(limit), value))
SIMGPU_FORWARD(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest),
               driver.cuCtxGetStreamPriorityRange(least, greatest))
SIMGPU_FORWARD(cudaCtxResetPersistingL2Cache, (), driver.cuCtxResetPersistingL2Cache())
SIMGPU_FORWARD(cudaDeviceSetCacheConfig, (cudaFuncCache config),
               driver.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config)))

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return with_context([&](const Driver& driver) {
    CUfunc_cache value = CU_FUNC_CACHE_PREFER_NONE;
    const CUresult result = config != nullptr ? driver.cuCtxGetCacheConfig(&value) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
      *config = static_cast<cudaFuncCache>(value);
    }
    return result;
  });
}

// No simulated device is another one's peer, which is what cuDeviceCanAccessPeer says too.
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return simgpu::remember(cudaErrorPeerAccessUnsupported);
}
cudaError_t cudaDeviceDisablePeerAccess(int) {
  return simgpu::remember(cudaErrorPeerAccessNotEnabled);
}

SIMGPU_FORWARD(cudaProfilerStart, (), (static_cast<void>(driver), cudaSuccess))
SIMGPU_FORWARD(cudaProfilerStop, (), (static_cast<void>(driver), cudaSuccess))
