// Primary and explicit contexts, the stack of current contexts, limits. Any thread.
#include <mutex>

#include "api/api.h"
#include "api/current.h"
#include "engine/capture_hooks.h"
#include "memory/pool_api.h"

using namespace simgpu;

namespace {

constexpr unsigned flag_mask = CU_CTX_FLAGS_MASK;

// Serialises retaining, releasing and resetting of primary contexts.
std::mutex& primary_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

CUresult create(CUcontext* pctx, unsigned flags, CUdevice dev, unsigned api_version) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (pctx == nullptr || (flags & ~flag_mask) != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context = engine().create_context(*device, flags, false);
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->api_version = api_version;
  if (!current_stack().push(handle_of(*context))) {
    engine().destroy_context(*context);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *pctx = handle_of(*context);
  return CUDA_SUCCESS;
}

CUresult synchronize(CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_unsafe_call(); result != CUDA_SUCCESS) return result;
  Device& device = *context->device;
  const CUresult result = engine().synchronize(*context);
  if (result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) trim_pools(device);
  return result;
}

CUresult destroy_primary(Device& device) {
  if (device.primary == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Context* context = device.primary;
  device.primary = nullptr;
  device.primary_references = 0;
  engine().destroy_context(*context);
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock guard(primary_mutex());
  if (device->primary == nullptr) device->primary = engine().create_context(*device, device->primary_flags, true);
  if (device->primary == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ++device->primary_references;
  *pctx = handle_of(*device->primary);
  return CUDA_SUCCESS;
}

SIMGPU_API cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  const std::scoped_lock guard(primary_mutex());
  if (device->primary == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_references > 0) return CUDA_SUCCESS;
  return destroy_primary(*device);
}

SIMGPU_API cuDevicePrimaryCtxRelease(CUdevice dev) {
  return cuDevicePrimaryCtxRelease_v2(dev);
}

SIMGPU_API cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  const std::scoped_lock guard(primary_mutex());
  if (device->primary != nullptr) destroy_primary(*device);
  return CUDA_SUCCESS;
}

SIMGPU_API cuDevicePrimaryCtxReset(CUdevice dev) {
  return cuDevicePrimaryCtxReset_v2(dev);
}

SIMGPU_API cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if ((flags & ~flag_mask) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock guard(primary_mutex());
  device->primary_flags = flags;
  if (device->primary != nullptr) device->primary->flags = flags;
  return CUDA_SUCCESS;
}

SIMGPU_API cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

SIMGPU_API cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Device* device = nullptr;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock guard(primary_mutex());
  *flags = device->primary_flags;
  *active = device->primary != nullptr;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, 3010);
}
SIMGPU_API cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, 3020);
}

SIMGPU_API cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                          CUdevice dev) {
  if (paramsArray != nullptr || numParams != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(pctx, flags, dev, 3020);
}

SIMGPU_API cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  if (ctxCreateParams != nullptr &&
      (ctxCreateParams->execAffinityParams != nullptr || ctxCreateParams->cigParams != nullptr)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return create(pctx, flags, dev, 3020);
}

SIMGPU_API cuCtxDestroy_v2(CUcontext ctx) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  Context* context = slab<Context>.find(ctx);
  if (context == nullptr || context->is_primary || context->green_of != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current_stack().top() == ctx) current_stack().pop();
  engine().destroy_context(*context);
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxDestroy(CUcontext ctx) {
  return cuCtxDestroy_v2(ctx);
}

SIMGPU_API cuCtxPushCurrent_v2(CUcontext ctx) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (slab<Context>.find(ctx) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return current_stack().push(ctx) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

SIMGPU_API cuCtxPushCurrent(CUcontext ctx) {
  return cuCtxPushCurrent_v2(ctx);
}

SIMGPU_API cuCtxPopCurrent_v2(CUcontext* pctx) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const CUcontext top = current_stack().top();
  if (!current_stack().pop()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = top;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxPopCurrent(CUcontext* pctx) {
  return cuCtxPopCurrent_v2(pctx);
}

SIMGPU_API cuCtxSetCurrent(CUcontext ctx) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (ctx != nullptr && slab<Context>.find(ctx) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return current_stack().set(ctx) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

SIMGPU_API cuCtxGetCurrent(CUcontext* pctx) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = current_stack().top();
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetDevice(CUdevice* device) {
  return cuCtxGetDevice_v2(device, nullptr);
}

SIMGPU_API cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device->ordinal;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetFlags(unsigned int* flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxSetFlags(unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if ((flags & ~flag_mask) != 0) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  Context* context = nullptr;
  if (const CUresult result = find_context(ctx, context); result != CUDA_SUCCESS) return result;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = context->api_version;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxSynchronize() {
  return synchronize(nullptr);
}
SIMGPU_API cuCtxSynchronize_v2(CUcontext ctx) {
  return synchronize(ctx);
}

SIMGPU_API cuCtxSetLimit(CUlimit limit, size_t value) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *pvalue = context->limits[limit];
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxSetCacheConfig(CUfunc_cache) {
  Context* context = nullptr;
  return current_context(context);
}

SIMGPU_API cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

SIMGPU_API cuCtxSetSharedMemConfig(CUsharedconfig) {
  Context* context = nullptr;
  return current_context(context);
}

SIMGPU_API cuCtxResetPersistingL2Cache() {
  Context* context = nullptr;
  return current_context(context);
}

SIMGPU_API cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = greatest_priority;
  return CUDA_SUCCESS;
}
