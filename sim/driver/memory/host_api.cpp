// The driver API for page-locked host memory: allocated here or registered. Device and host addresses are the same.
// Host threads; next to a spinning kernel these calls wait, as on hardware.
#include "api/api.h"
#include "engine/capture_hooks.h"
#include "memory/allocation.h"
#include "memory/pages.h"

namespace simgpu {
namespace {

constexpr unsigned all_alloc_flags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned all_register_flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                        CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

CUresult begin(Context*& context) {
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return capture_forbids_unsafe_call();
}

bool enter_host(Context& context, void* base, std::size_t size, RangeKind kind, unsigned flags) {
  Range range;
  range.base = reinterpret_cast<std::uintptr_t>(base);
  range.size = size;
  range.kind = kind;
  range.flags = flags;
  return enter(context, range);
}

CUresult allocate_host(void** pointer, std::size_t size, unsigned flags, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = begin(context); result != CUDA_SUCCESS) return result;
  if (pointer == nullptr || size == 0 || (flags & ~all_alloc_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  engine().wait_for_idle_device(*context->device, call, Drain::spinning_kernels);
  const std::size_t rounded = round_up(size, page_size);
  if (rounded < size || engine().allocation_fault()) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const pages = map_pages(rounded);
  if (pages == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!enter_host(*context, pages, size, RangeKind::pinned, flags)) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = pages;
  return CUDA_SUCCESS;
}

// Ends an allocation or a registration that starts exactly there.
CUresult give_up(void* pointer, RangeKind kind, CUresult unknown, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = begin(context); result != CUDA_SUCCESS) return result;
  const auto base = reinterpret_cast<std::uintptr_t>(pointer);
  const auto found = accessible_ranges().find(base);
  if (!found || found->base != base || found->kind != kind) return unknown;
  engine().wait_for_idle_device(*context->device, call, Drain::all_work, Held::all_launches);
  const auto taken = accessible_ranges().erase(base, [kind](const Range& range) { return range.kind == kind; });
  if (!taken) return unknown;
  discard(*taken);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  return allocate_host(pp, bytesize, Flags, "cuMemHostAlloc");
}

SIMGPU_API cuMemAllocHost_v2(void** pp, size_t bytesize) {
  return allocate_host(pp, bytesize, 0, "cuMemAllocHost");
}

SIMGPU_API cuMemFreeHost(void* p) {
  return give_up(p, RangeKind::pinned, CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost");
}

SIMGPU_API cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  Context* context = nullptr;
  if (const CUresult result = begin(context); result != CUDA_SUCCESS) return result;
  if (p == nullptr || bytesize == 0 || (Flags & ~all_register_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  engine().wait_for_idle_device(*context->device, "cuMemHostRegister", Drain::spinning_kernels);
  if (!enter_host(*context, p, bytesize, RangeKind::registered, Flags))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemHostUnregister(void* p) {
  return give_up(p, RangeKind::registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "cuMemHostUnregister");
}

SIMGPU_API cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = accessible_ranges().find(reinterpret_cast<std::uintptr_t>(p));
  if (!found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto found = accessible_ranges().find(reinterpret_cast<std::uintptr_t>(p));
  if (pFlags == nullptr || !found || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  // Under unified addressing all of it is mapped.
  *pFlags = found->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}
