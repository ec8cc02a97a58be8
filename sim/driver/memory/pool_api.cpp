// The driver API for stream-ordered memory: pools, cuMemAllocAsync, cuMemFreeAsync. Host threads.
// An allocation that a pool can serve from what it holds never waits; one that makes a pool grow waits next to a
// spinning kernel, as cuMemAlloc does.
#include "memory/pool_api.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "api/api.h"
#include "engine/capture_hooks.h"
#include "engine/slab.h"
#include "memory/allocation.h"
#include "memory/pool.h"

namespace simgpu {

struct MemoryPool {
  MemoryPool(Device& device, std::size_t limit, bool by_default) : memory(device, limit), is_default(by_default) {}
  Pool memory;
  const bool is_default;
};

namespace {

constexpr std::size_t most_devices = 16;

struct DevicePools {
  MemoryPool* by_default = nullptr;
  MemoryPool* current = nullptr;
  std::vector<MemoryPool*> all;
};

struct Pools {
  std::atomic<bool> used{false};  // whether any pool ever held memory
  std::mutex mutex;
  std::array<DevicePools, most_devices> devices;
};

Pools& pools() {
  static auto* const instance = new Pools;
  return *instance;
}

CUmemoryPool handle_of(MemoryPool* pool) {
  return reinterpret_cast<CUmemoryPool>(pool);
}

// The caller holds the mutex.
DevicePools& pools_of(Device& device) {
  DevicePools& found = pools().devices.at(static_cast<std::size_t>(device.ordinal));
  if (found.by_default == nullptr) {
    found.by_default = slab<MemoryPool>.create(device, std::size_t{0}, true);
    found.current = found.by_default;
    found.all.push_back(found.by_default);
  }
  return found;
}

CUresult find_pool(CUmemoryPool handle, MemoryPool*& pool) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  pool = slab<MemoryPool>.find(handle);
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

MemoryPool& current_pool(Device& device) {
  const std::lock_guard lock(pools().mutex);
  return *pools_of(device).current;
}

std::uint64_t stream_number(const Stream& stream) {
  return stream.id + 1;
}

CUresult take_from_pool(MemoryPool& pool, std::size_t size, std::uint64_t stream, void*& block) {
  Device& device = pool.memory.device();
  if (engine().allocation_fault()) return CUDA_ERROR_OUT_OF_MEMORY;
  block = pool.memory.take(size, stream);
  if (block != nullptr) return CUDA_SUCCESS;
  engine().wait_for_idle_device(device, "cuMemAllocAsync", Drain::spinning_kernels);
  pools().used.store(true, std::memory_order_relaxed);
  if (!pool.memory.grow(size)) return CUDA_ERROR_OUT_OF_MEMORY;
  engine().note_memory(device);
  block = pool.memory.take(size, stream);
  return block == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* pointer, std::size_t size, MemoryPool* pool, CUstream handle, DefaultStream meaning) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = capture_forbids_use(*stream); result != CUDA_SUCCESS) return result;
  if (pool == nullptr) pool = &current_pool(*stream->context->device);
  if (size == 0) {
    *pointer = 0;
    return CUDA_SUCCESS;
  }
  void* block = nullptr;
  if (const CUresult result = take_from_pool(*pool, size, stream_number(*stream), block); result != CUDA_SUCCESS)
    return result;
  Range range;
  range.base = reinterpret_cast<std::uintptr_t>(block);
  range.size = size;
  range.kind = RangeKind::pooled;
  range.pool = handle_of(pool);
  if (!enter(*stream->context, range)) return CUDA_ERROR_UNKNOWN;
  *pointer = range.base;
  return engine().submit(*stream, EmptyCommand{});
}

bool is_pooled(const Range& range) {
  return range.kind == RangeKind::pooled;
}

// The pool of a range: alive as an object even after cuMemPoolDestroy, while it has allocations.
Pool& pool_of(const Range& range) {
  return reinterpret_cast<MemoryPool*>(range.pool)->memory;
}

CUresult free_in_stream(CUdeviceptr pointer, CUstream handle, DefaultStream meaning) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_use(*stream); result != CUDA_SUCCESS) return result;
  if (pointer == 0) return CUDA_SUCCESS;
  const auto taken = accessible_ranges().erase(pointer, is_pooled);
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  discard(*taken);
  Pool& pool = pool_of(*taken);
  const Pool::PendingFree pending = pool.begin_free(reinterpret_cast<void*>(pointer), stream_number(*stream));
  const auto finish = [&pool, pending] { pool.finish_free(pending); };
  return engine().submit(*stream, ActionCommand{std::make_shared<const std::function<void()>>(finish)});
}

bool on_device(const CUmemLocation& location, Device*& device) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && find_device(location.id, device) == CUDA_SUCCESS;
}

CUresult attribute_of_location(const CUmemLocation* location, CUmemAllocationType type, Device*& device) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_ALLOCATION_TYPE_PINNED && on_device(*location, device)) return CUDA_SUCCESS;
  return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUresult free_pooled_now(const Range& range) {
  engine().wait_for_idle_device(device_of(range), "cuMemFree", Drain::all_work, Held::all_launches);
  const auto taken = accessible_ranges().erase(range.base, is_pooled);
  if (!taken) return CUDA_ERROR_INVALID_VALUE;
  discard(*taken);
  Pool& pool = pool_of(*taken);
  pool.finish_free(pool.begin_free(reinterpret_cast<void*>(taken->base), 0));
  return CUDA_SUCCESS;
}

void trim_pools(Device& device) {
  if (!pools().used.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(pools().mutex);
  for (MemoryPool* pool : pools().devices.at(static_cast<std::size_t>(device.ordinal)).all)
    pool->memory.trim(pool->memory.release_threshold());
}

}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate(dptr, bytesize, nullptr, hStream, DefaultStream::legacy);
}
SIMGPU_API cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return allocate(dptr, bytesize, nullptr, hStream, DefaultStream::per_thread);
}

SIMGPU_API cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  return allocate(dptr, bytesize, found, hStream, DefaultStream::legacy);
}
SIMGPU_API cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  return allocate(dptr, bytesize, found, hStream, DefaultStream::per_thread);
}

SIMGPU_API cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  return free_in_stream(dptr, hStream, DefaultStream::legacy);
}
SIMGPU_API cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream) {
  return free_in_stream(dptr, hStream, DefaultStream::per_thread);
}

SIMGPU_API cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  Device* device = nullptr;
  if (const CUresult result = attribute_of_location(&poolProps->location, poolProps->allocType, device);
      result != CUDA_SUCCESS)
    return result;
  const std::lock_guard lock(pools().mutex);
  MemoryPool* const created = slab<MemoryPool>.create(*device, poolProps->maxSize, false);
  if (created == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  pools_of(*device).all.push_back(created);
  *pool = handle_of(created);
  return CUDA_SUCCESS;
}

// The object stays for allocations that are still alive; its memory goes back as they are freed.
SIMGPU_API cuMemPoolDestroy(CUmemoryPool pool) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (found->is_default) return CUDA_ERROR_INVALID_VALUE;
  {
    const std::lock_guard lock(pools().mutex);
    if (!slab<MemoryPool>.retire(found)) return CUDA_ERROR_INVALID_VALUE;
    DevicePools& of_device = pools_of(found->memory.device());
    std::erase(of_device.all, found);
    if (of_device.current == found) of_device.current = of_device.by_default;
  }
  found->memory.doom();
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
  found->memory.trim(minBytesToKeep);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Pool::Usage usage = found->memory.usage();
  const Pool::Reuse reuse = found->memory.reuse();
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      *static_cast<int*>(value) = reuse.follow_event_dependencies;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      *static_cast<int*>(value) = reuse.opportunistic;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = reuse.internal_dependencies;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<cuuint64_t*>(value) = found->memory.release_threshold();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = usage.reserved;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = usage.reserved_high;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = usage.used;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = usage.used_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SIMGPU_API cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pool::Reuse reuse = found->memory.reuse();
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      reuse.follow_event_dependencies = *static_cast<int*>(value);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      reuse.opportunistic = *static_cast<int*>(value);
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse.internal_dependencies = *static_cast<int*>(value);
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      found->memory.set_release_threshold(*static_cast<cuuint64_t*>(value));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      found->memory.reset_high_marks(attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  found->memory.set_reuse(reuse);
  return CUDA_SUCCESS;
}

// Only the device that owns a pool can use it here; its own access cannot be taken away.
SIMGPU_API cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t index = 0; index < count; ++index) {
    Device* device = nullptr;
    if (!on_device(map[index].location, device)) return CUDA_ERROR_INVALID_VALUE;
    if (device != &found->memory.device()) return CUDA_ERROR_INVALID_DEVICE;
    if (map[index].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(memPool, found); result != CUDA_SUCCESS) return result;
  Device* device = nullptr;
  if (flags == nullptr || location == nullptr || !on_device(*location, device)) return CUDA_ERROR_INVALID_VALUE;
  *flags = device == &found->memory.device() ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  Device* device = nullptr;
  if (const CUresult result = attribute_of_location(location, type, device); result != CUDA_SUCCESS) return result;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pools().mutex);
  *pool_out = handle_of(pools_of(*device).by_default);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  Device* device = nullptr;
  if (const CUresult result = attribute_of_location(location, type, device); result != CUDA_SUCCESS) return result;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pools().mutex);
  *pool = handle_of(pools_of(*device).current);
  return CUDA_SUCCESS;
}

SIMGPU_API cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  Device* device = nullptr;
  if (const CUresult result = attribute_of_location(location, type, device); result != CUDA_SUCCESS) return result;
  MemoryPool* found = nullptr;
  if (const CUresult result = find_pool(pool, found); result != CUDA_SUCCESS) return result;
  if (&found->memory.device() != device) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(pools().mutex);
  pools_of(*device).current = found;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, dev};
  return cuMemGetDefaultMemPool(pool_out, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
}

SIMGPU_API cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, dev};
  return cuMemGetMemPool(pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
}

SIMGPU_API cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, dev};
  return cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
}
