// Green contexts with hardware queues of their own, or those of the primary context: SIMGPU_QUEUE_GREEN_CONTEXT. Any
// thread. A green context has all multiprocessors or a share of them, its handle is that of the context, and its streams
// and its default stream are its own. Drivers before 12.4 have none of this, those before 13.1 no workqueues
// (SIMGPU_DRIVER_VERSION).
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "api/api.h"
#include "api/current.h"
#include "engine/settings.h"
#include "runner/core/newer_cuda.h"

using namespace simgpu;

namespace {

constexpr int first_driver_with_green_contexts = 12040;

// Behind a CUdevResourceDesc. No call gives one back.
struct Description {
  int device = 0;
  bool balanced = false;
  unsigned limit = 0;  // streams with work at the same time
  SmShare share;
};

// The opaque part of a resource of multiprocessors.
struct SmResource {
  uint32_t kind = 0;
  int device = 0;
  unsigned first = 0, count = 0;
};
constexpr uint32_t sm_resource_kind = 0x5347534d;
constexpr unsigned sm_alignment = 8;  // of compute capability 9.0

SmResource sm_resource(const CUdevResource& resource) {
  SmResource found;
  std::memcpy(&found, resource._internal_padding, sizeof found);
  return found;
}

void set_sm_resource(CUdevResource& resource, int device, unsigned first, unsigned count) {
  resource = {};
  if (count == 0) return;  // of no type
  const SmResource made{sm_resource_kind, device, first, count};
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  std::memcpy(resource._internal_padding, &made, sizeof made);
  resource.sm.smCount = count;
  resource.sm.minSmPartitionSize = resource.sm.smCoscheduledAlignment = sm_alignment;
}

bool is_sm_resource(const CUdevResource& resource) {
  const SmResource found = sm_resource(resource);
  return resource.type == CU_DEV_RESOURCE_TYPE_SM && found.kind == sm_resource_kind &&
         resource.sm.smCount == found.count;
}

CUresult green_ready() {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return reported_driver_version() < first_driver_with_green_contexts ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

bool is_known(int type) {
  return type == CU_DEV_RESOURCE_TYPE_SM ||
         (type == weft::workqueue_config_type && reported_driver_version() >= weft::first_driver_with_workqueues);
}

// Multiprocessors, or the workqueues as every context has them.
CUresult get_resource(const Device& device, const SmShare& share, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_known(static_cast<int>(type))) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *resource = {};
  resource->type = type;
  if (type == CU_DEV_RESOURCE_TYPE_SM) {
    const unsigned all = engine().settings().multiprocessors;
    set_sm_resource(*resource, device.ordinal, share.first, std::min(share.count, all - share.first));
  } else {
    const unsigned limit = engine().settings().connections;
    weft::set_workqueue_config(*resource, {device.ordinal, limit, weft::workqueue_scope_device_context});
  }
  return CUDA_SUCCESS;
}

CUresult add_to(Description& description, const CUdevResource& resource) {
  const int type = weft::type_of(resource);
  if (!is_known(type)) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (type == CU_DEV_RESOURCE_TYPE_SM) {
    if (!is_sm_resource(resource)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const SmResource given = sm_resource(resource);
    description.device = given.device;
    description.share = {given.first, given.count};
    return CUDA_SUCCESS;
  }
  const weft::WorkqueueConfig config = weft::workqueue_config(resource);
  if (config.concurrency_limit == 0 || config.scope > weft::workqueue_scope_balanced)
    return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  description.device = config.device;
  description.balanced = config.scope == weft::workqueue_scope_balanced;
  description.limit = config.concurrency_limit;
  return CUDA_SUCCESS;
}

CUresult event_of(CUevent handle, const Context& green, Event*& event) {
  if (const CUresult result = find_event(handle, event); result != CUDA_SUCCESS) return result;
  const bool same = event->context == &green || event->context == green.green_of;
  return same ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult simgpu::find_green_context(CUgreenCtx handle, Context*& context) {
  if (const CUresult result = green_ready(); result != CUDA_SUCCESS) return result;
  context = slab<Context>.find(handle);
  if (context == nullptr || context->green_of == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->error.load(std::memory_order_relaxed);
}

SIMGPU_API cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  Device* found = nullptr;
  if (const CUresult result = green_ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_device(device, found); result != CUDA_SUCCESS) return result;
  return get_resource(*found, {}, resource, type);
}

SIMGPU_API cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
  Context* context = nullptr;
  if (const CUresult result = green_ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_context(hCtx, context); result != CUDA_SUCCESS) return result;
  return get_resource(*context->device, context->share, resource, type);
}

SIMGPU_API cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource, CUdevResourceType type) {
  Context* context = nullptr;
  if (const CUresult result = find_green_context(hCtx, context); result != CUDA_SUCCESS) return result;
  return get_resource(*context->device, context->share, resource, type);
}

// Groups of equal size from the front, in whole alignments; what is left behind them is the rest. The flags would allow
// finer groups, which no caller asks for.
SIMGPU_API cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* nbGroups, const CUdevResource* input,
                                       CUdevResource* remaining, unsigned int useFlags, unsigned int minCount) {
  if (const CUresult state = green_ready(); state != CUDA_SUCCESS) return state;
  if (nbGroups == nullptr || input == nullptr || useFlags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (!is_sm_resource(*input) || minCount > input->sm.smCount) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const SmResource whole = sm_resource(*input);
  const unsigned size = (std::max(minCount, 1U) + sm_alignment - 1) / sm_alignment * sm_alignment;
  const unsigned possible = whole.count / size;
  if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned groups = result == nullptr ? possible : std::min(*nbGroups, possible);
  for (unsigned index = 0; result != nullptr && index < groups; ++index)
    set_sm_resource(result[index], whole.device, whole.first + index * size, size);
  *nbGroups = groups;
  if (remaining != nullptr) set_sm_resource(*remaining, whole.device, whole.first + groups * size, whole.count - groups * size);
  return CUDA_SUCCESS;
}

SIMGPU_API cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources, unsigned int nbResources) {
  if (const CUresult result = green_ready(); result != CUDA_SUCCESS) return result;
  if (phDesc == nullptr || resources == nullptr || nbResources == 0) return CUDA_ERROR_INVALID_VALUE;
  Description description;
  for (unsigned index = 0; index < nbResources; ++index) {
    if (const CUresult result = add_to(description, resources[index]); result != CUDA_SUCCESS) return result;
  }
  Description* const made = slab<Description>.create(description);
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phDesc = reinterpret_cast<CUdevResourceDesc>(made);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  Device* device = nullptr;
  if (const CUresult result = green_ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_device(dev, device); result != CUDA_SUCCESS) return result;
  const Description* const description = slab<Description>.find(desc);
  if (phCtx == nullptr || description == nullptr || description->device != dev || flags != CU_GREEN_CTX_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  CUcontext primary = nullptr;  // held until the green context is destroyed
  if (const CUresult result = cuDevicePrimaryCtxRetain(&primary, dev); result != CUDA_SUCCESS) return result;
  engine().wait_for_idle_device(*device, "cuGreenCtxCreate", Drain::spinning_kernels);
  const bool own = description->balanced && !engine().settings().queue.green_contexts_share;
  Context* const green = engine().create_green_context(*device->primary, own ? description->limit : 0, description->share);
  if (green == nullptr) {
    cuDevicePrimaryCtxRelease_v2(dev);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *phCtx = green_handle_of(*green);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGreenCtxDestroy(CUgreenCtx hCtx) {
  Context* context = nullptr;
  if (const CUresult result = find_green_context(hCtx, context); result != CUDA_SUCCESS) return result;
  const CUdevice device = context->device->ordinal;
  if (current_stack().top() == handle_of(*context)) current_stack().pop();
  engine().destroy_context(*context);
  return cuDevicePrimaryCtxRelease_v2(device);
}

SIMGPU_API cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  Context* context = nullptr;
  if (const CUresult result = find_green_context(hCtx, context); result != CUDA_SUCCESS) return result;
  if (pContext == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pContext = handle_of(*context);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long* greenCtxId) {
  Context* context = nullptr;
  if (const CUresult result = find_green_context(greenCtx, context); result != CUDA_SUCCESS) return result;
  if (greenCtxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *greenCtxId = context->id;
  return CUDA_SUCCESS;
}

SIMGPU_API cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
  Context* context = nullptr;
  Event* event = nullptr;
  if (const CUresult result = find_green_context(hCtx, context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = event_of(hEvent, *context, event); result != CUDA_SUCCESS) return result;
  return engine().record(*context, *event);
}

SIMGPU_API cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
  Context* context = nullptr;
  Event* event = nullptr;
  if (const CUresult result = find_green_context(hCtx, context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = event_of(hEvent, *context, event); result != CUDA_SUCCESS) return result;
  return engine().make_wait(*context, *event);
}
