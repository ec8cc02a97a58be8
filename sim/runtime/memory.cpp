// Allocation of device, pinned and managed memory, and what is known about a pointer. Called on the application's
// thread.
#include "context.h"

using simgpu::device_pointer;
using simgpu::Driver;
using simgpu::with_context;

static_assert(cudaHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE && cudaHostAllocMapped == CU_MEMHOSTALLOC_DEVICEMAP &&
              cudaHostRegisterMapped == CU_MEMHOSTREGISTER_DEVICEMAP);

namespace {

// No bytes are a null pointer and success, as the runtime documents for none of its allocations and does for all of
// them.
template <class Allocate>
cudaError_t allocate(void** pointer, size_t size, Allocate&& allocate_bytes) {
  return with_context([&](const Driver& driver) {
    if (pointer == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *pointer = nullptr;
    return size == 0 ? CUDA_SUCCESS : allocate_bytes(driver);
  });
}

CUresult pitched(const Driver& driver, void** pointer, size_t* pitch, size_t width, size_t rows) {
  constexpr unsigned element_bytes = 4;
  CUdeviceptr address = 0;
  const CUresult result =
      pitch != nullptr ? driver.cuMemAllocPitch(&address, pitch, width, rows, element_bytes) : CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    *pointer = simgpu::host_pointer(address);
  }
  return result;
}

CUresult describe(const Driver& driver, cudaPointerAttributes& attributes, const void* pointer) {
  CUmemorytype type = static_cast<CUmemorytype>(0);
  CUdeviceptr device_address = 0;
  void* host_address = nullptr;
  unsigned managed = 0;
  int ordinal = -2;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                  CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &device_address, &host_address, &managed, &ordinal};
  const CUresult result = driver.cuPointerGetAttributes(5, wanted, values, device_pointer(pointer));
  if (result != CUDA_SUCCESS) {
    return result;
  }
  attributes = {};
  attributes.device = ordinal;
  attributes.devicePointer = simgpu::host_pointer(device_address);
  attributes.hostPointer = host_address;
  if (managed != 0) {
    attributes.type = cudaMemoryTypeManaged;
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    attributes.type = cudaMemoryTypeDevice;
  } else if (type == CU_MEMORYTYPE_HOST) {
    attributes.type = cudaMemoryTypeHost;
  } else {
    attributes.type = cudaMemoryTypeUnregistered;
    attributes.device = -2;
    attributes.devicePointer = nullptr;
    attributes.hostPointer = const_cast<void*>(pointer);
  }
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return allocate(pointer, size, [&](const Driver& driver) {
    return driver.cuMemAlloc(reinterpret_cast<CUdeviceptr*>(pointer), size);
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned int flags) {
  return allocate(pointer, size, [&](const Driver& driver) {
    return driver.cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), size, flags);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return allocate(pointer, size, [&](const Driver& driver) { return driver.cuMemHostAlloc(pointer, size, 0); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int flags) {
  return allocate(pointer, size, [&](const Driver& driver) { return driver.cuMemHostAlloc(pointer, size, flags); });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return allocate(pointer, width * height,
                  [&](const Driver& driver) { return pitched(driver, pointer, pitch, width, height); });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* result, cudaExtent extent) {
  void* pointer = nullptr;
  size_t pitch = 0;
  if (result == nullptr) {
    return simgpu::remember(cudaErrorInvalidValue);
  }
  const cudaError_t error = cudaMallocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth);
  if (error == cudaSuccess) {
    *result = {pointer, pitch, extent.width, extent.height};
  }
  return error;
}

SIMGPU_FORWARD(cudaFree, (void* pointer), pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFree(device_pointer(pointer)))
SIMGPU_FORWARD(cudaFreeHost, (void* pointer), pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFreeHost(pointer))
SIMGPU_FORWARD(cudaHostRegister, (void* pointer, size_t size, unsigned int flags),
               driver.cuMemHostRegister(pointer, size, flags))
SIMGPU_FORWARD(cudaHostUnregister, (void* pointer), driver.cuMemHostUnregister(pointer))
SIMGPU_FORWARD(cudaHostGetDevicePointer, (void** device, void* host, unsigned int flags),
               driver.cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr*>(device), host, flags))
SIMGPU_FORWARD(cudaHostGetFlags, (unsigned int* flags, void* host), driver.cuMemHostGetFlags(flags, host))
SIMGPU_FORWARD(cudaMemGetInfo, (size_t * free, size_t* total), driver.cuMemGetInfo(free, total))
SIMGPU_FORWARD(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer),
               attributes == nullptr ? CUDA_ERROR_INVALID_VALUE : describe(driver, *attributes, pointer))
