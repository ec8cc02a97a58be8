// The driver API for plain device memory and memory information: cuMemAlloc and its family. Host threads.
// Next to a spinning kernel these calls wait, as on hardware; they must never be made by the engine.
#include "api/api.h"
#include "engine/capture_hooks.h"
#include "memory/allocation.h"
#include "memory/pages.h"
#include "memory/pool_api.h"

namespace simgpu {
namespace {

constexpr std::size_t pitch_granularity = 512;

CUresult allocate_device(CUdeviceptr* pointer, std::size_t size, RangeKind kind, unsigned flags, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
  if (pointer == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  Device& device = *context->device;
  engine().wait_for_idle_device(device, call, Drain::spinning_kernels);
  Range range;
  range.size = size;
  range.kind = kind;
  range.flags = flags;
  range.charged = round_up(size, constants::allocation_granularity);
  if (range.charged < size || !charge(device, range.charged)) return CUDA_ERROR_OUT_OF_MEMORY;
  range.base = reinterpret_cast<std::uintptr_t>(map_pages(round_up(size, page_size)));
  if (range.base == 0 || !enter(*context, range)) {
    device.memory.give_back(range.charged);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *pointer = range.base;
  return CUDA_SUCCESS;
}

bool freed_by_mem_free(const Range& range) {
  return range.kind == RangeKind::device || range.kind == RangeKind::managed;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  return allocate_device(dptr, bytesize, RangeKind::device, 0, "cuMemAlloc");
}

SIMGPU_API cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  return allocate_device(dptr, bytesize, RangeKind::managed, flags, "cuMemAllocManaged");
}

SIMGPU_API cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                              unsigned int ElementSizeBytes) {
  const bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
  if (pPitch == nullptr || !element || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t pitch = round_up(WidthInBytes, pitch_granularity);
  if (pitch < WidthInBytes || pitch > SIZE_MAX / Height) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = allocate_device(dptr, pitch * Height, RangeKind::device, 0, "cuMemAllocPitch");
  if (result == CUDA_SUCCESS) *pPitch = pitch;
  return result;
}

SIMGPU_API cuMemFree_v2(CUdeviceptr dptr) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (dptr == 0) return CUDA_SUCCESS;
  if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
  const auto found = accessible_ranges().find(dptr);
  if (!found || found->base != dptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->kind == RangeKind::pooled) return free_pooled_now(*found);
  if (!freed_by_mem_free(*found)) return CUDA_ERROR_INVALID_VALUE;
  engine().wait_for_idle_device(device_of(*found), "cuMemFree", Drain::all_work, Held::all_launches);
  const auto taken = accessible_ranges().erase(dptr, freed_by_mem_free);
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  discard(*taken);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemGetInfo_v2(size_t* free, size_t* total) {
  Device* device = nullptr;
  if (const CUresult result = current_device(device); result != CUDA_SUCCESS) return result;
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *total = device->memory.total();
  *free = device->memory.free();
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto found = accessible_ranges().find(dptr);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = found->base;
  if (psize != nullptr) *psize = found->size;
  return CUDA_SUCCESS;
}
