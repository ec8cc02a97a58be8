// Events. Any thread; a record is stamped with the logical time at which the stream got to it.
#include "api/api.h"
#include "engine/capture_hooks.h"
#include "memory/pool_api.h"

using namespace simgpu;

namespace {

constexpr unsigned create_flags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUevent event_handle, CUstream stream_handle, DefaultStream meaning, unsigned flags) {
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (const CUresult result = find_stream(stream_handle, meaning, stream); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_event(event_handle, event); result != CUDA_SUCCESS) return result;
  if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if ((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  RecordCommand command;
  command.event = event;
  command.flags = flags;
  return engine().submit(*stream, command);
}

CUresult context_and_event(CUcontext context_handle, CUevent event_handle, Context*& context, Event*& event) {
  if (context_handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult result = find_context(context_handle, context); result != CUDA_SUCCESS) return result;
  return find_event(event_handle, event);
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  Event* from = nullptr;
  Event* to = nullptr;
  if (const CUresult result = find_event(start, from); result != CUDA_SUCCESS) return result;
  if (const CUresult result = find_event(end, to); result != CUDA_SUCCESS) return result;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  if (from->context != to->context) return CUDA_ERROR_INVALID_HANDLE;
  return engine().elapsed(*from, *to, *milliseconds);
}

}  // namespace

SIMGPU_API cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (phEvent == nullptr || (Flags & ~create_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0) {
    return (Flags & CU_EVENT_DISABLE_TIMING) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  }
  Event* event = engine().create_event(*context, Flags);
  if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phEvent = handle_of(*event);
  return CUDA_SUCCESS;
}

SIMGPU_API cuEventDestroy_v2(CUevent hEvent) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  Event* event = slab<Event>.find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  engine().destroy_event(*event);
  return CUDA_SUCCESS;
}
SIMGPU_API cuEventDestroy(CUevent hEvent) {
  return cuEventDestroy_v2(hEvent);
}

SIMGPU_PAIR(cuEventRecord, _ptsz, (CUevent hEvent, CUstream hStream), record(hEvent, hStream, meaning, 0))
SIMGPU_PAIR(cuEventRecordWithFlags, _ptsz, (CUevent hEvent, CUstream hStream, unsigned int flags),
            record(hEvent, hStream, meaning, flags))

SIMGPU_API cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  Context* context = nullptr;
  Event* event = nullptr;
  if (const CUresult result = context_and_event(hCtx, hEvent, context, event); result != CUDA_SUCCESS) return result;
  return event->context != context ? CUDA_ERROR_INVALID_HANDLE : engine().record(*context, *event);
}

SIMGPU_API cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
  Context* context = nullptr;
  Event* event = nullptr;
  if (const CUresult result = context_and_event(hCtx, hEvent, context, event); result != CUDA_SUCCESS) return result;
  return engine().make_wait(*context, *event);
}

SIMGPU_API cuEventQuery(CUevent hEvent) {
  Event* event = nullptr;
  if (const CUresult result = find_event(hEvent, event); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_use(*event); result != CUDA_SUCCESS) return result;
  return engine().query(*event);
}

SIMGPU_API cuEventSynchronize(CUevent hEvent) {
  Event* event = nullptr;
  if (const CUresult result = find_event(hEvent, event); result != CUDA_SUCCESS) return result;
  if (const CUresult result = capture_forbids_use(*event); result != CUDA_SUCCESS) return result;
  Device& device = *event->context->device;
  const CUresult result = engine().synchronize(*event);
  trim_pools(device);
  return result;
}

SIMGPU_API cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return elapsed(pMilliseconds, hStart, hEnd);
}
SIMGPU_API cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return elapsed(pMilliseconds, hStart, hEnd);
}
