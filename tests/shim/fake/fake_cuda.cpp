// The fake libcuda.so.1; see fake_cuda.h. Linked with -Bsymbolic: its own calls must not go through hooks.
#include "tests/shim/fake/fake_cuda.h"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct Event {
  bool done = true;
};

struct Stream {
  enum class Kind { block, write, record, wait };
  struct Operation {
    Kind kind;
    Event* event;
    std::uint32_t* word;
    std::uint32_t value;
  };
  std::deque<Operation> queue;
  int context = 0;
  unsigned int flags = CU_STREAM_NON_BLOCKING;
  std::size_t enqueued = 0;
  std::size_t captured = 0;
  bool released = false;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
};

std::recursive_mutex mutex;
thread_local int current_context = 0;
thread_local std::vector<int> pushed_contexts;
std::map<CUstream, std::unique_ptr<Stream>> streams;
std::map<CUstream, std::unique_ptr<Stream>> draining;  // destroyed with work that is not over
std::map<int, Stream> legacy_streams;
std::map<int, Stream> thread_streams;
int failing_allocations = 0;
int failing_writes = 0;
bool waits_fail = false;
void (*meanwhile)() = nullptr;
int allocations = 0;
int dead_streams = 0;
int unloaded = 0;
CUevent root_wait = nullptr;
int broken_captures = 0;
std::atomic<bool> queries_hold{false};
std::atomic<int> held_queries{0};
char contexts[3];

CUcontext handle_of(int context) {
  return reinterpret_cast<CUcontext>(&contexts[context]);
}
int index_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<char*>(context) - contexts);
}
int current_device() {
  return current_context % 2;
}

// The streams of the contexts go with them. Their handles do not come back, so that a use of one is seen.
template <class Which>
void end_contexts(Which which) {
  static std::vector<std::unique_ptr<Stream>> gone;
  const std::lock_guard lock(mutex);
  for (auto entry = streams.begin(); entry != streams.end();) {
    const bool goes = which(entry->second->context);
    if (goes) gone.push_back(std::move(entry->second));
    entry = goes ? streams.erase(entry) : std::next(entry);
  }
}

Stream* find(CUstream stream, bool per_thread = false) {
  if (stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread)) return &thread_streams[current_device()];
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return &legacy_streams[current_device()];
  const auto known = streams.find(stream);
  if (known == streams.end()) ++dead_streams;
  return known == streams.end() ? nullptr : known->second.get();
}

bool step(Stream& stream) {
  if (stream.queue.empty()) return false;
  const Stream::Operation first = stream.queue.front();
  if (first.kind == Stream::Kind::block && !stream.released) return false;
  if (first.kind == Stream::Kind::wait && !first.event->done) return false;
  if (first.kind == Stream::Kind::block) stream.released = false;
  if (first.kind == Stream::Kind::write) __atomic_store_n(first.word, first.value, __ATOMIC_RELEASE);
  if (first.kind == Stream::Kind::record) first.event->done = true;
  stream.queue.pop_front();
  return true;
}

void run_all() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& [handle, stream] : streams) moved |= step(*stream);
    for (auto& [handle, stream] : draining) moved |= step(*stream);
    for (auto& [device, stream] : legacy_streams) moved |= step(stream);
    for (auto& [device, stream] : thread_streams) moved |= step(stream);
  }
}

CUresult put(Stream* stream, const Stream::Operation& operation) {
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) return ++stream->captured, CUDA_SUCCESS;
  ++stream->enqueued;
  stream->queue.push_back(operation);
  run_all();
  return CUDA_SUCCESS;
}

CUresult record(CUevent event, Stream* stream) {
  const std::lock_guard lock(mutex);
  auto* mine = reinterpret_cast<Event*>(event);
  if (stream != nullptr && stream->capture == CU_STREAM_CAPTURE_STATUS_NONE) mine->done = false;
  return put(stream, {Stream::Kind::record, mine, nullptr, 0});
}

CUresult wait(Stream* stream, CUevent event) {
  const std::lock_guard lock(mutex);
  return put(stream, {Stream::Kind::wait, reinterpret_cast<Event*>(event), nullptr, 0});
}

// Of the explicit streams of the context.
CUresult record_context(CUcontext context, CUevent event) {
  const std::lock_guard lock(mutex);
  auto* mine = reinterpret_cast<Event*>(event);
  for (auto& [handle, stream] : streams)
    if (handle_of(stream->context) == context && !stream->queue.empty()) return record(event, stream.get());
  return mine->done = true, CUDA_SUCCESS;
}

CUresult make_context_wait(CUcontext context, CUevent event) {
  const std::lock_guard lock(mutex);
  for (auto& [handle, stream] : streams)
    if (handle_of(stream->context) == context) wait(stream.get(), event);
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* pointer) {
  const std::lock_guard lock(mutex);
  ++allocations;
  if (failing_allocations > 0) {
    --failing_allocations;
    if (meanwhile != nullptr) meanwhile();
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *pointer = 0x1000;
  return CUDA_SUCCESS;
}

CUresult create(CUstream* stream, unsigned int flags = CU_STREAM_NON_BLOCKING) {
  const std::lock_guard lock(mutex);
  auto made = std::make_unique<Stream>();
  made->context = current_context;
  made->flags = flags;
  *stream = reinterpret_cast<CUstream>(made.get());
  streams[*stream] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult begin(CUstream stream, bool per_thread) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream, per_thread);
  if (mine == nullptr || mine->capture != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
  mine->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult end(CUstream stream, bool per_thread) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream, per_thread);
  if (mine == nullptr || mine->capture == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
  mine->capture = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void fake_block(CUstream stream) {
  const std::lock_guard lock(mutex);
  put(find(stream), {Stream::Kind::block, nullptr, nullptr, 0});
}
void fake_release(CUstream stream) {
  const std::lock_guard lock(mutex);
  const auto gone = draining.find(stream);
  (gone != draining.end() ? gone->second.get() : find(stream))->released = true;
  run_all();
  std::erase_if(draining, [](const auto& entry) { return entry.second->queue.empty(); });
}
std::size_t fake_enqueued(CUstream stream) {
  const std::lock_guard lock(mutex);
  return find(stream)->enqueued;
}
std::size_t fake_captured(CUstream stream) {
  const std::lock_guard lock(mutex);
  return find(stream)->captured;
}
void fake_fail_allocations(int count) {
  failing_allocations = count;
}
void fake_during_failures(void (*happens)()) {
  meanwhile = happens;
}
void fake_fail_writes(int count) {
  failing_writes = count;
}
void fake_fail_waits(bool fail) {
  waits_fail = fail;
}
void fake_set_device(int device) {
  current_context = device;
}
void fake_set_context(int context) {
  current_context = context;
}
CUcontext fake_context(int context) {
  return handle_of(context);
}
int fake_unloaded() {
  return unloaded;
}
void fake_set_root_wait(CUevent event) {
  root_wait = event;
}
void fake_hold_queries(bool hold) {
  queries_hold = hold;
}
int fake_held_queries() {
  return held_queries;
}
int fake_broken_captures() {
  return broken_captures;
}
int fake_dead_streams() {
  return dead_streams;
}
int fake_allocations() {
  return allocations;
}

CUresult cuDriverGetVersion(int* version) {
  const char* wanted = std::getenv("FAKE_DRIVER_VERSION");
  *version = wanted != nullptr ? std::atoi(wanted) : 13000;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return *device = current_device(), CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = handle_of(current_context), CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  pushed_contexts.push_back(current_context);
  current_context = index_of(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  *context = handle_of(current_context);
  current_context = pushed_contexts.back();
  pushed_contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  const std::lock_guard lock(mutex);
  const Stream* mine = find(stream);
  if (mine == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return *flags = mine->flags, CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned int, CUdevice) {
  return *context = handle_of(2), CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream);
  if (mine == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return *context = handle_of(mine->context), CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  ++held_queries;
  while (queries_hold) std::this_thread::yield();
  --held_queries;
  const std::lock_guard lock(mutex);
  const Stream* mine = find(stream);
  if (mine == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (mine->capture != CU_STREAM_CAPTURE_STATUS_NONE) return ++broken_captures, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return mine->queue.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream);
  if (mine == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return *status = mine->capture, CUDA_SUCCESS;
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream);
  if (failing_writes > 0) return --failing_writes, CUDA_ERROR_INVALID_VALUE;
  const bool is_explicit = stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  if (mine != nullptr && is_explicit && mine->context % 2 != current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  return put(mine, {Stream::Kind::write, nullptr, reinterpret_cast<std::uint32_t*>(address), value});
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
  if (waits_fail) return CUDA_ERROR_INVALID_VALUE;
  return wait(find(stream), event);
}
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int) {
  return wait(find(stream, true), event);
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  return delete reinterpret_cast<Event*>(event), CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return std::swap(current, *mode), CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  const std::lock_guard lock(mutex);
  return reinterpret_cast<Event*>(event)->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return record(event, find(stream));
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
  return record(event, find(stream, true));
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int) {
  return record(event, find(stream));
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int) {
  return record(event, find(stream, true));
}
CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  return record_context(context, event);
}
CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
  return waits_fail ? CUDA_ERROR_INVALID_VALUE : make_context_wait(context, event);
}
// Green contexts are handles of contexts here.
CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  return *context = reinterpret_cast<CUcontext>(green), CUDA_SUCCESS;
}
CUresult cuGreenCtxRecordEvent(CUgreenCtx context, CUevent event) {
  return record_context(reinterpret_cast<CUcontext>(context), event);
}
CUresult cuGreenCtxWaitEvent(CUgreenCtx context, CUevent event) {
  return make_context_wait(reinterpret_cast<CUcontext>(context), event);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph* graph,
                                   const CUgraphNode**, size_t*) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream);
  if (mine == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *graph = reinterpret_cast<CUgraph>(mine);  // a stream captures into one graph at a time
  return *status = mine->capture, CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) {
  return ++unloaded, CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary) {
  return ++unloaded, CUDA_SUCCESS;
}
CUresult cuCtxSynchronize_v2(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return create(stream, flags);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int, int) {
  return create(stream);
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx, unsigned int, int) {
  return create(stream);
}
// Its work goes on.
CUresult cuStreamDestroy_v2(CUstream stream) {
  const std::lock_guard lock(mutex);
  const auto gone = streams.find(stream);
  if (gone == streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (!gone->second->queue.empty()) draining[stream] = std::move(gone->second);
  return streams.erase(gone), CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}
CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(stream, false);
}
CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  return begin(stream, true);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return begin(stream, false);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode) {
  return begin(stream, true);
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                                     CUstreamCaptureMode) {
  return begin(stream, false);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(find(stream));
  return end(stream, false);
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph*) {
  return end(stream, true);
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  end_contexts([context](int other) { return handle_of(other) == context; });
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return *context = handle_of(device), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  end_contexts([device](int other) { return other == device; });
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t) {
  return allocate(pointer);
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t*, size_t, size_t, unsigned int) {
  return allocate(pointer);
}
CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t, unsigned int) {
  return allocate(pointer);
}
CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t, CUstream) {
  return allocate(pointer);
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, size_t, CUstream) {
  return allocate(pointer);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t, CUmemoryPool, CUstream) {
  return allocate(pointer);
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, size_t, CUmemoryPool, CUstream) {
  return allocate(pointer);
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t, const CUmemAllocationProp*, unsigned long long) {
  CUdeviceptr pointer = 0;
  const CUresult result = allocate(&pointer);
  if (result == CUDA_SUCCESS) *handle = pointer;
  return result;
}
CUresult cuLibraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                           unsigned int) {
  CUdeviceptr pointer = 0;
  return allocate(&pointer);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph, unsigned long long) {
  static char executables[64];
  static int last = 0;
  CUdeviceptr pointer = 0;
  if (made != nullptr) *made = reinterpret_cast<CUgraphExec>(&executables[last++]);
  return allocate(&pointer);
}
CUresult cuGraphClone(CUgraph* made, CUgraph) {
  static char clones[64];
  static int last = 0;
  return *made = reinterpret_cast<CUgraph>(&clones[last++]), CUDA_SUCCESS;
}
CUresult cuGraphGetRootNodes(CUgraph, CUgraphNode* roots, size_t* count) {
  if (roots != nullptr) *roots = reinterpret_cast<CUgraphNode>(root_wait);
  return *count = root_wait == nullptr ? 0 : 1, CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode, CUgraphNodeType* type) {
  return *type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUDA_SUCCESS;
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return *event = reinterpret_cast<CUevent>(node), CUDA_SUCCESS;
}
CUresult cuGraphAddNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
                           CUgraphNodeParams*) {
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel_ptsz(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                             unsigned int, unsigned int, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec, CUstream stream) {
  const std::lock_guard lock(mutex);
  Stream* mine = find(stream);
  if (mine != nullptr && mine->capture != CU_STREAM_CAPTURE_STATUS_NONE) ++mine->captured;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void**) {
  for (unsigned int i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      return record(config->attrs[i].value.launchCompletionEvent.event, find(config->hStream));
  return CUDA_SUCCESS;
}
// A kernel and its function are known by the address of the name.
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  return *kernel = reinterpret_cast<CUkernel>(const_cast<char*>(name)), CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(reinterpret_cast<char*>(kernel) + 1), CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  return *function = reinterpret_cast<CUfunction>(const_cast<char*>(name)), CUDA_SUCCESS;
}
// The lowest addresses are the host's.
CUresult cuPointerGetAttribute(void* type, CUpointer_attribute, CUdeviceptr address) {
  *static_cast<unsigned int*>(type) = address < 4096 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D*, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER*, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*, size_t,
                               CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpy3DBatchAsync_v2(size_t, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8_v2_ptds(CUdeviceptr, unsigned char, size_t) {
  return CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void*) {
  return CUDA_SUCCESS;
}

#pragma GCC visibility pop
}
