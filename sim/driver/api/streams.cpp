// Streams: creation, questions, waiting, attributes, host functions. Any thread.
#include "api/api.h"
#include "engine/capture_hooks.h"
#include "memory/pool_api.h"

using namespace simgpu;

namespace {

CUresult create(Context& context, CUstream* out, unsigned flags, int priority, const char* call) {
  if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
  engine().wait_for_idle_device(*context.device, call, Drain::spinning_kernels);
  const bool non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
  const StreamKind kind = non_blocking ? StreamKind::explicit_non_blocking : StreamKind::explicit_blocking;
  Stream* stream = engine().create_stream(context, kind, flags, priority);
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = handle_of(*stream);
  return CUDA_SUCCESS;
}

CUresult create(CUstream* out, unsigned flags, int priority, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return create(*context, out, flags, priority, call);
}

// Asks one thing about a stream, under the engine's lock.
template <class Answer, class Question>
CUresult ask(CUstream handle, DefaultStream meaning, Answer* answer, Question question) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock guard(engine().lock());
  *answer = question(*stream);
  return CUDA_SUCCESS;
}

CUresult get_priority(CUstream handle, DefaultStream meaning, int* priority) {
  return ask(handle, meaning, priority, [](const Stream& stream) { return stream.priority; });
}

CUresult get_flags(CUstream handle, DefaultStream meaning, unsigned* flags) {
  return ask(handle, meaning, flags, [](const Stream& stream) { return stream.flags; });
}

CUresult get_id(CUstream handle, DefaultStream meaning, unsigned long long* id) {
  return ask(handle, meaning, id, [](const Stream& stream) { return stream.id; });
}

CUresult get_device(CUstream handle, DefaultStream meaning, CUdevice* device) {
  return ask(handle, meaning, device, [](const Stream& stream) { return stream.context->device->ordinal; });
}

CUresult get_context(CUstream handle, DefaultStream meaning, CUcontext* context) {
  return ask(handle, meaning, context, [](const Stream& stream) { return handle_of(*stream.context); });
}

CUresult get_green_context(CUstream handle, DefaultStream meaning, CUgreenCtx* green) {
  return ask(handle, meaning, green, [](const Stream& stream) { return green_handle_of(*stream.context); });
}

// The primary context stands beside a green one.
CUresult get_context_v2(CUstream handle, DefaultStream meaning, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) {
    if (const CUresult result = get_green_context(handle, meaning, green); result != CUDA_SUCCESS) return result;
  }
  return ask(handle, meaning, context, [](const Stream& stream) {
    return handle_of(stream.context->green_of == nullptr ? *stream.context : *stream.context->green_of);
  });
}

CUresult query(CUstream handle, DefaultStream meaning) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_use(*stream); result != CUDA_SUCCESS) return result;
  return engine().query(*stream);
}

CUresult synchronize(CUstream handle, DefaultStream meaning) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_use(*stream); result != CUDA_SUCCESS) return result;
  Device& device = *stream->context->device;
  const CUresult result = engine().synchronize(*stream);
  trim_pools(device);
  return result;
}

CUresult wait_event(CUstream handle, DefaultStream meaning, CUevent event_handle, unsigned flags) {
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_event(event_handle, event); result != CUDA_SUCCESS) return result;
  if ((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  WaitCommand command;
  command.event = event;
  command.flags = flags;
  return engine().submit(*stream, command);
}

CUresult launch_host(CUstream handle, DefaultStream meaning, CUhostFn function, void* user_data) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  HostCommand command;
  command.function = function;
  command.user_data = user_data;
  return engine().submit(*stream, command);
}

CUresult add_callback(CUstream handle, DefaultStream meaning, CUstreamCallback callback, void* user_data,
                      unsigned flags) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = capture_forbids_use(*stream); result != CUDA_SUCCESS) return result;
  HostCommand command;
  command.callback = callback;
  command.stream = handle;
  command.user_data = user_data;
  return engine().submit(*stream, command);
}

// Attributes that only steer caches are accepted and have no effect.
CUresult get_attribute(CUstream handle, DefaultStream meaning, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return ask(handle, meaning, value, [&](const Stream& stream) {
    CUstreamAttrValue answer{};
    if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) answer.priority = stream.priority;
    if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
      answer.syncPolicy = static_cast<CUsynchronizationPolicy>(stream.sync_policy);
    }
    if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) answer.memSyncDomainMap = stream.mem_sync_domain_map;
    if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
      answer.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(stream.mem_sync_domain);
    }
    return answer;
  });
}

CUresult set_attribute(CUstream handle, DefaultStream meaning, CUstreamAttrID attribute,
                       const CUstreamAttrValue* value) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::scoped_lock guard(engine().lock());
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      if (value->priority > 0 || value->priority < greatest_priority) return CUDA_ERROR_INVALID_VALUE;
      stream->priority = value->priority;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      stream->sync_policy = static_cast<unsigned>(value->syncPolicy);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      stream->mem_sync_domain_map = value->memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      stream->mem_sync_domain = static_cast<unsigned>(value->memSyncDomain);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult copy_attributes(CUstream to, CUstream from, DefaultStream meaning) {
  Stream* target = nullptr;
  Stream* source = nullptr;
  if (const CUresult result = find_stream(to, meaning, target); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_stream(from, meaning, source); result != CUDA_SUCCESS) return result;
  const std::scoped_lock guard(engine().lock());
  target->priority = source->priority;
  target->sync_policy = source->sync_policy;
  target->mem_sync_domain_map = source->mem_sync_domain_map;
  target->mem_sync_domain = source->mem_sync_domain;
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  return create(phStream, Flags, 0, "cuStreamCreate");
}
SIMGPU_API cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  return create(phStream, flags, priority, "cuStreamCreateWithPriority");
}

SIMGPU_API cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags, int priority) {
  Context* context = nullptr;
  if (const CUresult result = find_green_context(greenCtx, context); result != CUDA_SUCCESS) return result;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  return create(*context, phStream, flags, priority, "cuGreenCtxStreamCreate");
}
SIMGPU_API cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
  return get_green_context(hStream, DefaultStream::legacy, phCtx);
}

SIMGPU_API cuStreamDestroy_v2(CUstream hStream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  Stream* stream = slab<Stream>.find(hStream);
  if (stream == nullptr || stream->kind == StreamKind::legacy || stream->kind == StreamKind::per_thread) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  engine().destroy_stream(*stream);
  return CUDA_SUCCESS;
}
SIMGPU_API cuStreamDestroy(CUstream hStream) {
  return cuStreamDestroy_v2(hStream);
}

SIMGPU_PAIR(cuStreamGetPriority, _ptsz, (CUstream hStream, int* priority), get_priority(hStream, meaning, priority))
SIMGPU_PAIR(cuStreamGetFlags, _ptsz, (CUstream hStream, unsigned int* flags), get_flags(hStream, meaning, flags))
SIMGPU_PAIR(cuStreamGetId, _ptsz, (CUstream hStream, unsigned long long* streamId), get_id(hStream, meaning, streamId))
SIMGPU_PAIR(cuStreamGetDevice, _ptsz, (CUstream hStream, CUdevice* device), get_device(hStream, meaning, device))
SIMGPU_PAIR(cuStreamGetCtx, _ptsz, (CUstream hStream, CUcontext* pctx), get_context(hStream, meaning, pctx))
SIMGPU_PAIR(cuStreamGetCtx_v2, _ptsz, (CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx),
            get_context_v2(hStream, meaning, pCtx, pGreenCtx))

SIMGPU_PAIR(cuStreamQuery, _ptsz, (CUstream hStream), query(hStream, meaning))
SIMGPU_PAIR(cuStreamSynchronize, _ptsz, (CUstream hStream), synchronize(hStream, meaning))

SIMGPU_PAIR(cuStreamWaitEvent, _ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags),
            wait_event(hStream, meaning, hEvent, Flags))

SIMGPU_PAIR(cuLaunchHostFunc, _ptsz, (CUstream hStream, CUhostFn fn, void* userData),
            launch_host(hStream, meaning, fn, userData))
SIMGPU_PAIR(cuStreamAddCallback, _ptsz,
            (CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags),
            add_callback(hStream, meaning, callback, userData, flags))

SIMGPU_PAIR(cuStreamGetAttribute, _ptsz, (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value),
            get_attribute(hStream, meaning, attr, value))
SIMGPU_PAIR(cuStreamSetAttribute, _ptsz, (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* param),
            set_attribute(hStream, meaning, attr, param))
SIMGPU_PAIR(cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src), copy_attributes(dst, src, meaning))
