// The hooks of the CUDA driver. Each notes what it sees, calls the real function of the very same ABI with the
// arguments as they are, and returns its result as it is. Any thread of the main job. No lock, no allocation, no log,
// no string. Two exceptions to "one real call": a call that failed for lack of memory is tried once more
// (main_job/memory_rescue.h); and on a thread with unloading refused, cuModuleUnload and cuLibraryUnload answer as
// after the driver's end, without a call.
#include "shim/activate.h"
#include "shim/caller.h"
#include "shim/main_job/capture.h"
#include "shim/main_job/contexts.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/forget_streams.h"
#include "shim/main_job/graph_events.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/memory_rescue.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/waits.h"
#include "shim/routing/proc_address.h"
#include "shim/routing/real.h"

namespace weft {
namespace {

void stream_made(CUstream stream, bool by_main_job) noexcept {
  if (level() == Level::pass) return;
  note_stream_made();
  if (is_wefts_call()) return;
  if (by_main_job) {
    count_from_the_first(learn_stream(name_of(stream, false)));
  } else {
    learn_stream_of_nccl(stream);
  }
}

// A wait that is not the main job's own is NCCL's or ours.
[[gnu::always_inline]] inline void others_wait(CUstream stream) noexcept {
  if (level() != Level::pass && !is_wefts_call()) nccl_makes_wait(stream);
}

}  // namespace
}  // namespace weft

using namespace weft;

extern "C" {

CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  const CUresult result = real<Symbol::cuGetProcAddress>()(symbol, pfn, version, flags);
  if (result == CUDA_SUCCESS && pfn != nullptr && *pfn != nullptr && level() != Level::pass)
    *pfn = route_answer(*pfn, __builtin_return_address(0));
  return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const CUresult result = real<Symbol::cuGetProcAddress_v2>()(symbol, pfn, version, flags, status);
  if (result == CUDA_SUCCESS && pfn != nullptr && *pfn != nullptr && level() != Level::pass)
    *pfn = route_answer(*pfn, __builtin_return_address(0));
  return result;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitEvent>();
  const bool is_seen = observing();
  const StreamWait wait = is_seen ? stream_waits(stream, false, event) : StreamWait{};
  if (!is_seen) others_wait(stream);
  const CUresult result = call(stream, event, flags);
  if (wait.passed != 0) stream_waits_now(stream, false, wait, result == CUDA_SUCCESS);
  if (flags != 0 && result == CUDA_SUCCESS && learning()) event_captured(stream, false, event, EventNode::waits);
  return result;
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
  const auto call = real<Symbol::cuStreamWaitEvent_ptsz>();
  const bool is_seen = observing();
  const StreamWait wait = is_seen ? stream_waits(stream, true, event) : StreamWait{};
  if (!is_seen) others_wait(stream);
  const CUresult result = call(stream, event, flags);
  if (wait.passed != 0) stream_waits_now(stream, true, wait, result == CUDA_SUCCESS);
  if (flags != 0 && result == CUDA_SUCCESS && learning()) event_captured(stream, true, event, EventNode::waits);
  return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  const CUresult result = real<Symbol::cuEventRecord>()(event, stream);
  if (result == CUDA_SUCCESS && observing()) event_recorded(event, stream, false);
  return result;
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
  const CUresult result = real<Symbol::cuEventRecord_ptsz>()(event, stream);
  if (result == CUDA_SUCCESS && observing()) event_recorded(event, stream, true);
  return result;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  const CUresult result = real<Symbol::cuEventRecordWithFlags>()(event, stream, flags);
  const bool is_seen = result == CUDA_SUCCESS && learning();
  const bool is_node = flags != 0 && is_seen && event_captured(stream, false, event, EventNode::records);
  if (is_seen && !is_node && observing()) event_recorded(event, stream, false);
  return result;
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
  const CUresult result = real<Symbol::cuEventRecordWithFlags_ptsz>()(event, stream, flags);
  const bool is_seen = result == CUDA_SUCCESS && learning();
  const bool is_node = flags != 0 && is_seen && event_captured(stream, true, event, EventNode::records);
  if (is_seen && !is_node && observing()) event_recorded(event, stream, true);
  return result;
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  const auto call = real<Symbol::cuCtxRecordEvent>();
  return record_context(context, event, observing(), [=] { return call(context, event); });
}

CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
  const auto call = real<Symbol::cuCtxWaitEvent>();
  return make_context_wait(context, event, observing(), [=] { return call(context, event); });
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx context, CUevent event) {
  const auto call = real<Symbol::cuGreenCtxRecordEvent>();
  return record_context(context, event, observing(), [=] { return call(context, event); });
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx context, CUevent event) {
  const auto call = real<Symbol::cuGreenCtxWaitEvent>();
  return make_context_wait(context, event, observing(), [=] { return call(context, event); });
}

CUresult cuStreamSynchronize(CUstream stream) {
  const auto call = real<Symbol::cuStreamSynchronize>();
  const HostWait wait = observing() ? host_waits_for_stream(stream, false) : HostWait{};
  const CUresult result = call(stream);
  host_wait_over(wait, result);
  host_goes_on();
  return result;
}

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  const auto call = real<Symbol::cuStreamSynchronize_ptsz>();
  const HostWait wait = observing() ? host_waits_for_stream(stream, true) : HostWait{};
  const CUresult result = call(stream);
  host_wait_over(wait, result);
  host_goes_on();
  return result;
}

CUresult cuEventSynchronize(CUevent event) {
  const auto call = real<Symbol::cuEventSynchronize>();
  const HostWait wait = observing() ? host_waits_for_event(event) : HostWait{};
  const CUresult result = call(event);
  host_wait_over(wait, result);
  host_goes_on();
  return result;
}

CUresult cuCtxSynchronize(void) {
  const auto call = real<Symbol::cuCtxSynchronize>();
  const HostWait wait = observing() ? host_waits_for_device() : HostWait{};
  const CUresult result = call();
  host_wait_over(wait, result);
  host_goes_on();
  return result;
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
  const auto call = real<Symbol::cuCtxSynchronize_v2>();
  const HostWait wait = observing() ? host_waits_for_device() : HostWait{};
  const CUresult result = call(context);
  host_wait_over(wait, result);
  host_goes_on();
  return result;
}

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  const auto call = real<Symbol::cuStreamCreate>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(stream, flags); });
  if (result == CUDA_SUCCESS) stream_made(*stream, learning());
  return result;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  const auto call = real<Symbol::cuStreamCreateWithPriority>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(stream, flags, priority); });
  if (result == CUDA_SUCCESS) stream_made(*stream, learning());
  return result;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned int flags, int priority) {
  const auto call = real<Symbol::cuGreenCtxStreamCreate>();
  const CUresult result = with_rescue(current_device, 0, [=] { return call(stream, context, flags, priority); });
  if (result == CUDA_SUCCESS) stream_made(*stream, learning());
  return result;
}

CUresult cuStreamDestroy(CUstream stream) {
  const auto call = real<Symbol::cuStreamDestroy>();
  if (!is_off()) forget_stream(stream);
  return call(stream);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  const auto call = real<Symbol::cuStreamDestroy_v2>();
  if (!is_off()) forget_stream(stream);
  return call(stream);
}

CUresult cuStreamBeginCapture(CUstream stream) {
  const auto call = real<Symbol::cuStreamBeginCapture>();
  return begin_capture(stream, false, CapturesInto::new_graph, [=] { return call(stream); });
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  const auto call = real<Symbol::cuStreamBeginCapture_ptsz>();
  return begin_capture(stream, true, CapturesInto::new_graph, [=] { return call(stream); });
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const auto call = real<Symbol::cuStreamBeginCapture_v2>();
  return begin_capture(stream, false, CapturesInto::new_graph, [=] { return call(stream, mode); });
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  const auto call = real<Symbol::cuStreamBeginCapture_v2_ptsz>();
  return begin_capture(stream, true, CapturesInto::new_graph, [=] { return call(stream, mode); });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  const auto call = real<Symbol::cuStreamBeginCaptureToGraph>();
  return begin_capture(stream, false, CapturesInto::given_graph,
                       [=] { return call(stream, graph, nodes, edges, count, mode); });
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* nodes,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  const auto call = real<Symbol::cuStreamBeginCaptureToGraph_ptsz>();
  return begin_capture(stream, true, CapturesInto::given_graph,
                       [=] { return call(stream, graph, nodes, edges, count, mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const auto call = real<Symbol::cuStreamEndCapture>();
  return end_capture(stream, false, [=] { return call(stream, graph); });
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  const auto call = real<Symbol::cuStreamEndCapture_ptsz>();
  return end_capture(stream, true, [=] { return call(stream, graph); });
}

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  const auto call = real<Symbol::cuCtxCreate>();
  return make_context([=] { return call(context, flags, device); });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  const auto call = real<Symbol::cuCtxCreate_v2>();
  return make_context([=] { return call(context, flags, device); });
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count, unsigned int flags,
                        CUdevice device) {
  const auto call = real<Symbol::cuCtxCreate_v3>();
  return make_context([=] { return call(context, affinity, count, flags, device); });
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned int flags, CUdevice device) {
  const auto call = real<Symbol::cuCtxCreate_v4>();
  return make_context([=] { return call(context, params, flags, device); });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  const auto call = real<Symbol::cuCtxFromGreenCtx>();
  return make_context([=] { return call(context, green); });
}

CUresult cuCtxDestroy(CUcontext context) {
  return destroy_context(context, real<Symbol::cuCtxDestroy>());
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  return destroy_context(context, real<Symbol::cuCtxDestroy_v2>());
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult result = real<Symbol::cuDevicePrimaryCtxRetain>()(context, device);
  if (result == CUDA_SUCCESS) primary_retained(device);
  return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  const auto call = real<Symbol::cuDevicePrimaryCtxRelease>();
  primary_released(device);
  return call(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const auto call = real<Symbol::cuDevicePrimaryCtxRelease_v2>();
  primary_released(device);
  return call(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  const auto call = real<Symbol::cuDevicePrimaryCtxReset>();
  device_closing(device);
  return call(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  const auto call = real<Symbol::cuDevicePrimaryCtxReset_v2>();
  device_closing(device);
  return call(device);
}

CUresult cuModuleUnload(CUmodule module) {
  const auto call = real<Symbol::cuModuleUnload>();
  return thread_state.unload_refused != 0 ? CUDA_ERROR_DEINITIALIZED : call(module);
}

CUresult cuLibraryUnload(CUlibrary library) {
  const auto call = real<Symbol::cuLibraryUnload>();
  return thread_state.unload_refused != 0 ? CUDA_ERROR_DEINITIALIZED : call(library);
}

}  // extern "C"
