// Stream-ordered allocation, memory pools, and hints about managed memory. Called on the application's thread. The
// structures and numbers of the runtime are those of the driver, which the assertions hold.
#include <cstddef>

#include "context.h"

using simgpu::device_pointer;
using simgpu::Driver;
using simgpu::with_context;
using simgpu::with_driver;

static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps) &&
              offsetof(cudaMemPoolProps, maxSize) == offsetof(CUmemPoolProps, maxSize) &&
              offsetof(cudaMemPoolProps, location) == offsetof(CUmemPoolProps, location));
static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc) && sizeof(cudaMemLocation) == sizeof(CUmemLocation));
static_assert(static_cast<int>(cudaMemPoolAttrUsedMemHigh) == static_cast<int>(CU_MEMPOOL_ATTR_USED_MEM_HIGH) &&
              static_cast<int>(cudaMemPoolAttrReleaseThreshold) == static_cast<int>(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
static_assert(static_cast<int>(cudaMemLocationTypeDevice) == static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE) &&
              static_cast<int>(cudaMemLocationTypeHost) == static_cast<int>(CU_MEM_LOCATION_TYPE_HOST));

namespace {

CUmemLocation driver_location(cudaMemLocation location) {
  CUmemLocation converted = {};
  converted.type = static_cast<CUmemLocationType>(location.type);
  converted.id = location.id;
  return converted;
}

CUresult allocate(const Driver& driver, simgpu::DefaultStream mode, void** pointer, size_t size, CUmemoryPool pool,
                  CUstream stream) {
  if (pointer == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* address = reinterpret_cast<CUdeviceptr*>(pointer);
  *pointer = nullptr;
  if (size == 0) {
    return CUDA_SUCCESS;
  }
  return pool != nullptr ? driver.cuMemAllocFromPoolAsync[mode](address, size, pool, stream)
                         : driver.cuMemAllocAsync[mode](address, size, stream);
}

}  // namespace

SIMGPU_PAIR(cudaMallocAsync, _ptsz, (void** pointer, size_t size, cudaStream_t stream),
            allocate(driver, mode, pointer, size, nullptr, stream))
SIMGPU_PAIR(cudaMallocFromPoolAsync, _ptsz, (void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream),
            pool == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate(driver, mode, pointer, size, pool, stream))
SIMGPU_PAIR(cudaFreeAsync, _ptsz, (void* pointer, cudaStream_t stream),
            pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFreeAsync[mode](device_pointer(pointer), stream))

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceGetDefaultMemPool(pool, device); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceGetMemPool(pool, device); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return with_driver([&](const Driver& driver) { return driver.cuDeviceSetMemPool(device, pool); });
}

SIMGPU_FORWARD(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* properties),
               driver.cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties)))
SIMGPU_FORWARD(cudaMemPoolDestroy, (cudaMemPool_t pool), driver.cuMemPoolDestroy(pool))
SIMGPU_FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), driver.cuMemPoolTrimTo(pool, keep))
SIMGPU_FORWARD(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
               driver.cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value))
SIMGPU_FORWARD(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
               driver.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value))
SIMGPU_FORWARD(cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count),
               driver.cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(access), count))
SIMGPU_FORWARD(cudaMemPoolGetAccess, (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location),
               driver.cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                         reinterpret_cast<CUmemLocation*>(location)))
SIMGPU_FORWARD(cudaMemGetDefaultMemPool, (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
               driver.cuMemGetDefaultMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                             static_cast<CUmemAllocationType>(type)))
SIMGPU_FORWARD(cudaMemGetMemPool, (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
               driver.cuMemGetMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                      static_cast<CUmemAllocationType>(type)))
SIMGPU_FORWARD(cudaMemSetMemPool, (cudaMemLocation * location, cudaMemAllocationType type, cudaMemPool_t pool),
               driver.cuMemSetMemPool(reinterpret_cast<CUmemLocation*>(location),
                                      static_cast<CUmemAllocationType>(type), pool))

SIMGPU_FORWARD(cudaMemAdvise, (const void* pointer, size_t count, cudaMemoryAdvise advice, cudaMemLocation location),
               driver.cuMemAdvise(device_pointer(pointer), count, static_cast<CUmem_advise>(advice),
                                  driver_location(location)))
SIMGPU_PAIR(cudaMemPrefetchAsync, _ptsz,
            (const void* pointer, size_t count, cudaMemLocation location, unsigned int flags, cudaStream_t stream),
            driver.cuMemPrefetchAsync[mode](device_pointer(pointer), count, driver_location(location), flags, stream))
