// Kernels as objects: handles, attributes, occupancy, libraries and variables. Called on the application's thread.
#include <climits>

#include "binaries.h"
#include "context.h"

using simgpu::binaries;
using simgpu::Driver;
using simgpu::with_context;
using simgpu::with_driver;

namespace {

// Looks the kernel up and hands it, with the device of the thread, to `body`.
template <class Body>
cudaError_t with_kernel(const void* function, Body&& body) {
  return with_context([&](const Driver& driver) {
    CUkernel kernel = nullptr;
    int device = 0;
    cudaError_t error = binaries().kernel(driver, function, kernel);
    if (error == cudaSuccess) {
      error = simgpu::current_device(driver, device);
    }
    return error != cudaSuccess ? error : simgpu::to_runtime(body(driver, kernel, device));
  });
}

CUresult read_attributes(const Driver& driver, CUkernel kernel, int device, cudaFuncAttributes& attributes) {
  CUresult result = CUDA_SUCCESS;
  const auto read = [&](auto& member, CUfunction_attribute attribute) {
    int value = 0;
    const CUresult one = driver.cuKernelGetAttribute(&value, attribute, kernel, device);
    if (one == CUDA_SUCCESS) {
      member = static_cast<std::remove_reference_t<decltype(member)>>(value);
    } else if (result == CUDA_SUCCESS) {
      result = one;
    }
  };
  attributes = {};
  read(attributes.sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  read(attributes.constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  read(attributes.localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  read(attributes.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  read(attributes.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
  read(attributes.ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  read(attributes.binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  read(attributes.cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  read(attributes.maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  read(attributes.preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return result;
}

CUfunction as_function(CUkernel kernel) {
  return reinterpret_cast<CUfunction>(kernel);
}

// The launch shape in the driver's terms, or false when it cannot be one.
bool convert(const cudaLaunchConfig_t* config, CUlaunchConfig& converted) {
  if (config == nullptr || config->dynamicSmemBytes > UINT_MAX) {
    return false;
  }
  converted = {config->gridDim.x,
               config->gridDim.y,
               config->gridDim.z,
               config->blockDim.x,
               config->blockDim.y,
               config->blockDim.z,
               static_cast<unsigned>(config->dynamicSmemBytes),
               config->stream,
               reinterpret_cast<CUlaunchAttribute*>(config->attrs),
               config->numAttrs};
  return true;
}

}  // namespace

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return with_context([&](const Driver& driver) {
    return kernel == nullptr ? cudaErrorInvalidValue : binaries().kernel(driver, function, *kernel);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* handle, const void* function) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    const CUresult result = handle != nullptr ? driver.cuKernelGetFunction(handle, kernel) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
      binaries().remember(*handle, kernel);
    }
    return result;
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_driver([&](const Driver& driver) {
    if (name == nullptr) {
      return cudaErrorInvalidValue;
    }
    if (binaries().name(function, *name) == cudaSuccess) {
      return cudaSuccess;
    }
    CUkernel kernel = nullptr;
    const cudaError_t error = binaries().kernel(driver, function, kernel);
    return error != cudaSuccess ? error : simgpu::to_runtime(driver.cuKernelGetName(name, kernel));
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    return driver.cuKernelGetParamInfo(kernel, index, offset, size);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int device) {
    return attributes == nullptr ? CUDA_ERROR_INVALID_VALUE : read_attributes(driver, kernel, device, *attributes);
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int device) {
    return driver.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, device);
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return with_context([&](const Driver& driver) {
    return driver.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, device);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int device) {
    return driver.cuKernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config), device);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared_bytes, unsigned int flags) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    return driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, as_function(kernel), threads,
                                                                       shared_bytes, flags);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int threads) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    return driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, as_function(kernel), blocks, threads);
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const cudaLaunchConfig_t* config) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    CUlaunchConfig converted = {};
    return convert(config, converted) ? driver.cuOccupancyMaxPotentialClusterSize(size, as_function(kernel), &converted)
                                      : CUDA_ERROR_INVALID_VALUE;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  return with_kernel(function, [&](const Driver& driver, CUkernel kernel, int) {
    CUlaunchConfig converted = {};
    return convert(config, converted) ? driver.cuOccupancyMaxActiveClusters(clusters, as_function(kernel), &converted)
                                      : CUDA_ERROR_INVALID_VALUE;
  });
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit_options, void** jit_values,
                                unsigned int jit_count, cudaLibraryOption* options, void** values, unsigned int count) {
  return with_driver([&](const Driver& driver) {
    return driver.cuLibraryLoadData(library, code, reinterpret_cast<CUjit_option*>(jit_options), jit_values, jit_count,
                                    reinterpret_cast<CUlibraryOption*>(options), values, count);
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption* jit_options,
                                    void** jit_values, unsigned int jit_count, cudaLibraryOption* options,
                                    void** values, unsigned int count) {
  return with_driver([&](const Driver& driver) {
    return driver.cuLibraryLoadFromFile(library, file, reinterpret_cast<CUjit_option*>(jit_options), jit_values,
                                        jit_count, reinterpret_cast<CUlibraryOption*>(options), values, count);
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return with_driver([&](const Driver& driver) { return driver.cuLibraryUnload(library); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return with_driver([&](const Driver& driver) {
    const CUresult result = driver.cuLibraryGetKernel(kernel, library, name);
    if (result == CUDA_SUCCESS) {
      binaries().remember(*kernel, *kernel);
    }
    return result;
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  return with_driver([&](const Driver& driver) { return driver.cuLibraryGetKernelCount(count, library); });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) {
  return with_driver([&](const Driver& driver) { return driver.cuLibraryEnumerateKernels(kernels, count, library); });
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* size, cudaLibrary_t library, const char* name) {
  return with_context([&](const Driver& driver) {
    return driver.cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(address), size, library, name);
  });
}

cudaError_t cudaLibraryGetManaged(void** address, size_t* size, cudaLibrary_t library, const char* name) {
  return with_context([&](const Driver& driver) {
    return driver.cuLibraryGetManaged(reinterpret_cast<CUdeviceptr*>(address), size, library, name);
  });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return with_context([&](const Driver& driver) {
    CUdeviceptr found = 0;
    size_t size = 0;
    const cudaError_t error =
        address == nullptr ? cudaErrorInvalidValue : binaries().variable(driver, symbol, found, size);
    if (error == cudaSuccess) {
      *address = simgpu::host_pointer(found);
    }
    return error;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return with_context([&](const Driver& driver) {
    CUdeviceptr address = 0;
    return size == nullptr ? cudaErrorInvalidValue : binaries().variable(driver, symbol, address, *size);
  });
}
