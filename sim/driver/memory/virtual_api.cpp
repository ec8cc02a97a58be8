// The driver API of virtual memory management: addresses (cuMemAddressReserve), physical memory (cuMemCreate), mappings
// and access. Host threads. Calls that change page tables or give memory back wait next to a spinning kernel.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "api/api.h"
#include "engine/slab.h"
#include "memory/allocation.h"
#include "memory/pages.h"
#include "memory/physical.h"

namespace simgpu {
namespace {

constexpr std::size_t granularity = constants::virtual_granularity;

// Target of a CUmemGenericAllocationHandle. cuMemRetainAllocationHandle gives out the same one again.
struct PhysicalHandle {
  explicit PhysicalHandle(std::shared_ptr<Physical> what) : memory(std::move(what)) {}
  std::shared_ptr<Physical> memory;
  std::atomic<int> references{1};
};

CUmemGenericAllocationHandle handle_of(PhysicalHandle* handle) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(handle);
}

PhysicalHandle* find_physical(CUmemGenericAllocationHandle handle) {
  return slab<PhysicalHandle>.find(reinterpret_cast<const void*>(handle));
}

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// The device to charge (null for host memory), or why the properties are refused.
CUresult check_properties(const CUmemAllocationProp* properties, Device*& device) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  const auto types = static_cast<unsigned>(properties->requestedHandleTypes);
  if ((types & ~static_cast<unsigned>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  device = nullptr;
  if (is_host(properties->location.type)) return CUDA_SUCCESS;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return find_device(properties->location.id, device) == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

bool is_mapping(const Range& range) {
  return range.kind == RangeKind::mapped;
}

// Whether [base, base + size) consists of whole mappings without gaps; calls each(range) for all of them when it does.
template <class Each>
bool for_each_mapping(CUdeviceptr base, std::size_t size, Each each) {
  for (const bool check : {true, false}) {
    for (std::uintptr_t at = base; at < base + size;) {
      const auto range = accessible_ranges().find(at);
      if (!range || !is_mapping(*range) || range->base != at || range->end() > base + size) return false;
      if (!check) each(*range);
      at = range->end();
    }
  }
  return true;
}

void stall(const char* call) {
  Device* device = nullptr;
  if (current_device(device) == CUDA_SUCCESS) engine().wait_for_idle_device(*device, call, Drain::spinning_kernels);
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuMemGetAllocationGranularity(size_t* size, const CUmemAllocationProp* prop,
                                         CUmemAllocationGranularity_flags option) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = check_properties(prop, device); result != CUDA_SUCCESS) return result;
  if (size == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    return CUDA_ERROR_INVALID_VALUE;
  *size = granularity;
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                               unsigned long long flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const bool aligned = alignment == 0 || std::has_single_bit(alignment);
  if (ptr == nullptr || size == 0 || size % page_size != 0 || !aligned || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  void* const base = map_inaccessible(size, std::max(alignment, granularity), reinterpret_cast<void*>(addr));
  if (base == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Range range;
  range.base = reinterpret_cast<std::uintptr_t>(base);
  range.size = size;
  range.kind = RangeKind::reserved;
  if (!reserved_ranges().insert(range)) return CUDA_ERROR_OUT_OF_MEMORY;
  *ptr = range.base;
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  // Nothing may be mapped there any more.
  for (std::uintptr_t at = ptr; at < ptr + size; at += granularity)
    if (accessible_ranges().find(at)) return CUDA_ERROR_INVALID_VALUE;
  const auto taken = reserved_ranges().erase(ptr, [size](const Range& range) { return range.size == size; });
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  release_pages(reinterpret_cast<void*>(ptr), size);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                       unsigned long long flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (const CUresult result = check_properties(prop, device); result != CUDA_SUCCESS) return result;
  if (handle == nullptr || size == 0 || size % granularity != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (device != nullptr) engine().wait_for_idle_device(*device, "cuMemCreate", Drain::spinning_kernels);
  if (engine().allocation_fault()) return CUDA_ERROR_OUT_OF_MEMORY;
  std::shared_ptr<Physical> memory = Physical::create(size, *prop, device);
  PhysicalHandle* const created = memory == nullptr ? nullptr : slab<PhysicalHandle>.create(std::move(memory));
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (device != nullptr) engine().note_memory(*device);
  *handle = handle_of(created);
  return CUDA_SUCCESS;
}

// Mappings keep the memory itself alive.
SIMGPU_API cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (find_physical(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  stall("cuMemRelease");
  PhysicalHandle* const found = find_physical(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->references.fetch_sub(1) == 1 && slab<PhysicalHandle>.retire(found)) slab<PhysicalHandle>.release(found);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const auto range = accessible_ranges().find(reinterpret_cast<std::uintptr_t>(addr));
  if (handle == nullptr || !range || !is_mapping(*range)) return CUDA_ERROR_INVALID_VALUE;
  PhysicalHandle* const created = slab<PhysicalHandle>.create(std::const_pointer_cast<Physical>(range->physical));
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = handle_of(created);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const PhysicalHandle* const found = find_physical(handle);
  if (prop == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = found->memory->properties();
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const PhysicalHandle* const found = find_physical(handle);
  if (found == nullptr || offset != 0 || flags != 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto reserved = reserved_ranges().find(ptr);
  const bool fits = size % granularity == 0 && size <= found->memory->size() && ptr % granularity == 0;
  if (!fits || !reserved || size > reserved->end() - ptr) return CUDA_ERROR_INVALID_VALUE;
  const CUmemAllocationProp& properties = found->memory->properties();
  Range range;
  range.base = ptr;
  range.size = size;
  range.kind = RangeKind::mapped;
  range.device = is_host(properties.location.type) ? CU_DEVICE_CPU : properties.location.id;
  range.physical = found->memory;
  range.access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (!accessible_ranges().insert(range)) return CUDA_ERROR_INVALID_VALUE;
  if (found->memory->map(ptr, size)) return CUDA_SUCCESS;
  accessible_ranges().erase(ptr, is_mapping);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

SIMGPU_API cuMemUnmap(CUdeviceptr ptr, size_t size) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (size == 0 || !for_each_mapping(ptr, size, [](const Range&) {})) return CUDA_ERROR_INVALID_VALUE;
  stall("cuMemUnmap");
  const bool whole = for_each_mapping(ptr, size, [](const Range& range) {
    if (accessible_ranges().erase(range.base, is_mapping)) unmap_physical(range.base, range.size);
  });
  return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (desc == nullptr || count == 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t index = 0; index < count; ++index) {
    Device* device = nullptr;
    if (is_host(desc[index].location.type)) continue;
    if (desc[index].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (find_device(desc[index].location.id, device) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_DEVICE;
  }
  stall("cuMemSetAccess");
  const CUmemAccess_flags access = desc[count - 1].flags;
  const bool whole = for_each_mapping(ptr, size, [access](const Range& range) {
    set_access(range.base, range.size, access);
    accessible_ranges().update(range.base, [access](Range& entry) { entry.access = access; });
  });
  return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const auto range = accessible_ranges().find(ptr);
  if (flags == nullptr || location == nullptr || !range || !is_mapping(*range)) return CUDA_ERROR_INVALID_VALUE;
  const bool same = location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id == range->device;
  *flags = same ? range->access : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const PhysicalHandle* const found = find_physical(handle);
  if (shareableHandle == nullptr || found == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if (found->memory->properties().requestedHandleTypes != handleType) return CUDA_ERROR_INVALID_VALUE;
  const int file = found->memory->duplicate();
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  std::memcpy(shareableHandle, &file, sizeof(file));
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                          CUmemAllocationHandleType shHandleType) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  std::shared_ptr<Physical> memory = Physical::import(static_cast<int>(reinterpret_cast<std::intptr_t>(osHandle)));
  PhysicalHandle* const created = memory == nullptr ? nullptr : slab<PhysicalHandle>.create(std::move(memory));
  if (created == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = handle_of(created);
  return CUDA_SUCCESS;
}
