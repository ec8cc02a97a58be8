// The driver API for questions about pointers and for hints about managed memory. Host threads; nothing here waits.
#include <cstring>

#include "api/api.h"
#include "memory/physical.h"
#include "memory/ranges.h"

namespace simgpu {
namespace {

bool in_host_memory(const Range& range) {
  return range.on_host() || (range.kind == RangeKind::mapped && range.device == CU_DEVICE_CPU);
}

template <class Value>
CUresult store(void* data, Value value) {
  std::memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

CUresult legacy_context(const Range& range, void* data) {
  // Memory of the virtual memory API and of pools belongs to no context.
  const bool none = range.kind == RangeKind::mapped || range.kind == RangeKind::pooled;
  if (none) return store(data, CUcontext{nullptr});
  return store(data, range.context);
}

CUresult read_attribute(const Range& range, CUpointer_attribute attribute, CUdeviceptr pointer, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return legacy_context(range, data);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return store(data, static_cast<unsigned>(in_host_memory(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return store(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: {
      const bool readable = range.kind == RangeKind::managed || in_host_memory(range);
      return readable ? store(data, pointer) : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return store(data, static_cast<unsigned>(range.synchronize));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return store(data, static_cast<unsigned long long>(range.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return store(data, static_cast<unsigned>(range.kind == RangeKind::managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return store(data, range.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return store(data, 0U);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return store(data, static_cast<CUdeviceptr>(range.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return store(data, range.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return store(data, 1U);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return store(data, range.physical == nullptr
                             ? 0ULL
                             : static_cast<unsigned long long>(range.physical->properties().requestedHandleTypes));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return store(data, 0U);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return store(data, range.access);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return store(data, range.pool);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return store(data, range.size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return store(data, static_cast<CUdeviceptr>(range.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return store(data, static_cast<unsigned long long>(range.id));
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return store(data, 0U);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// Values that cuPointerGetAttributes stores for a pointer that CUDA does not know.
CUresult store_unknown(CUpointer_attribute attribute, CUdeviceptr pointer, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return store(data, CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return store(data, pointer);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return store(data, 0ULL);
    default:
      return store(data, 0U);
  }
}

CUresult check_managed(CUdeviceptr pointer, std::size_t size) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto range = accessible_ranges().find(pointer);
  const bool managed = range && range->kind == RangeKind::managed;
  return managed && size != 0 && size <= range->end() - pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_location(CUmemLocation location) {
  Device* device = nullptr;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return find_device(location.id, device);
  return location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The ABIs before CUDA 12.2 name a device, or CU_DEVICE_CPU.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                                 : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

// Managed memory is where it is: a prefetch only has to be valid and takes its place in the stream.
CUresult prefetch(CUdeviceptr pointer, std::size_t size, CUmemLocation location, CUstream handle,
                  DefaultStream meaning) {
  if (const CUresult result = check_managed(pointer, size); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_location(location); result != CUDA_SUCCESS) return result;
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  return engine().submit(*stream, EmptyCommand{});
}

CUresult advise(CUdeviceptr pointer, std::size_t size, CUmem_advise advice, CUmemLocation location) {
  if (const CUresult result = check_managed(pointer, size); result != CUDA_SUCCESS) return result;
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
    return CUDA_ERROR_INVALID_VALUE;
  const bool placeless = advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                         advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
  return placeless ? CUDA_SUCCESS : check_location(location);
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = accessible_ranges().find(ptr);
  if (range) return read_attribute(*range, attribute, ptr, data);
  const auto reserved = reserved_ranges().find(ptr);
  if (!reserved) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return store(data, 0U);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return store(data, static_cast<CUdeviceptr>(reserved->base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return store(data, reserved->size);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SIMGPU_API cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                  CUdeviceptr ptr) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (numAttributes == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto range = accessible_ranges().find(ptr);
  for (unsigned index = 0; index < numAttributes; ++index) {
    const CUresult result = range ? read_attribute(*range, attributes[index], ptr, data[index])
                                  : store_unknown(attributes[index], ptr, data[index]);
    // An attribute without a value for this kind of memory reads as null here, instead of failing all of them.
    if (result == CUDA_ERROR_INVALID_VALUE) store(data[index], CUdeviceptr{0});
    if (result == CUDA_ERROR_NOT_SUPPORTED) return result;
  }
  return CUDA_SUCCESS;
}

SIMGPU_API cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const bool synchronize = *static_cast<const unsigned*>(value) != 0;
  const bool known = accessible_ranges().update(ptr, [synchronize](Range& range) { range.synchronize = synchronize; });
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  return prefetch(devPtr, count, location_of(dstDevice), hStream, DefaultStream::legacy);
}
SIMGPU_API cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  return prefetch(devPtr, count, location_of(dstDevice), hStream, DefaultStream::per_thread);
}
SIMGPU_API cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                                 CUstream hStream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return prefetch(devPtr, count, location, hStream, DefaultStream::legacy);
}
SIMGPU_API cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                                      CUstream hStream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return prefetch(devPtr, count, location, hStream, DefaultStream::per_thread);
}

SIMGPU_API cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return advise(devPtr, count, advice, location_of(device));
}
SIMGPU_API cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location) {
  return advise(devPtr, count, advice, location);
}
