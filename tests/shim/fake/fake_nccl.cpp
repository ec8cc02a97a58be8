// The fake libnccl.so.2; see fake_nccl.h.
#include "tests/shim/fake/fake_nccl.h"

#include <atomic>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/shim/fake/fake_cuda.h"

struct ncclComm {
  int device = 0;
  int rank = 0;
  int ranks = 0;
  bool blocking = true;
  bool ready = true;
  std::vector<CUstream> unlaunched;
  CUstream own = nullptr;  // made at the first launch
  CUevent scratch = nullptr;
  ncclComm_t* split_to = nullptr;  // where a split that is under way will put its communicator
};

namespace {

struct Queued {
  ncclComm_t communicator;
  CUstream stream;
};

std::atomic<int> early_questions{0};
thread_local int depth = 0;
thread_local std::vector<Queued> queued;
thread_local bool late = false;
ncclResult_t refusal = ncclSuccess;
void (*in_close)() = nullptr;
std::atomic<ncclComm_t> destroyed{nullptr};  // the last one: its handle is the next one's

// NCCL's event dance around a launch, with streams of its own, through symbols that hooks stand in front of.
void dance(ncclComm_t communicator, CUstream stream) {
  if (communicator->own == nullptr) {
    cuStreamCreate(&communicator->own, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&communicator->scratch, 0);
  }
  cuEventRecord(communicator->scratch, stream);
  cuStreamWaitEvent(communicator->own, communicator->scratch, 0);
}

void launch(ncclComm_t communicator, CUstream stream) {
  if (!communicator->blocking) {
    communicator->unlaunched.push_back(stream);
    communicator->ready = false;
    late = true;
    return;
  }
  CUcontext before = nullptr;
  cuCtxPushCurrent_v2(fake_context(communicator->device));  // whose default streams are meant
  fake_block(stream);
  dance(communicator, stream);
  cuCtxPopCurrent_v2(&before);
}

ncclResult_t end_group() {
  if (--depth != 0) return ncclSuccess;
  if (in_close != nullptr) in_close();
  late = false;
  std::vector<ncclComm_t> done;
  for (const Queued& operation : queued) {
    bool seen = false;
    for (const ncclComm_t communicator : done) seen |= communicator == operation.communicator;
    if (!seen) launch(operation.communicator, operation.stream);
    done.push_back(operation.communicator);
  }
  queued.clear();
  return late ? ncclInProgress : ncclSuccess;
}

ncclResult_t operate(ncclComm_t communicator, cudaStream_t stream) {
  if (refusal != ncclSuccess) return refusal;
  if (communicator == nullptr) return ncclInvalidArgument;
  ++depth;
  queued.push_back({communicator, stream});
  return end_group();
}

ncclComm_t make(int ranks, int rank, bool blocking) {
  int device = 0;
  cuCtxGetDevice(&device);
  const ncclComm_t made = destroyed.exchange(nullptr);
  const ncclComm_t place = made != nullptr ? made : new ncclComm;
  *place = ncclComm{device, rank, ranks, blocking, blocking, {}, nullptr, nullptr};
  return place;
}

}  // namespace

#define NCCL_API(result, name, ...)                                                                   \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__)

namespace {

ncclResult_t answer(ncclComm_t communicator) {
  early_questions += communicator->ready ? 0 : 1;
  return communicator->ready ? ncclSuccess : ncclInProgress;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fake_nccl_early_questions() {
  return early_questions;
}
extern "C" __attribute__((visibility("default"))) void fake_nccl_proceed(ncclComm_t communicator) {
  for (const CUstream stream : communicator->unlaunched) fake_block(stream);
  communicator->unlaunched.clear();
  communicator->ready = true;
}
extern "C" __attribute__((visibility("default"))) void fake_nccl_refuse(ncclResult_t result) {
  refusal = result;
}

extern "C" __attribute__((visibility("default"))) void fake_nccl_in_close(void (*call)()) {
  in_close = call;
}

extern "C" __attribute__((visibility("default"))) CUresult fake_nccl_thread_waits(CUstream stream) {
  const volatile CUresult result = cuStreamSynchronize(stream);  // not a tail call: it has to come from here
  return result;
}

extern "C" __attribute__((visibility("default"))) void fake_nccl_thread_makes_streams() {
  CUstream made = nullptr;
  cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
  cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0);
}

NCCL_API(ncclResult_t, ncclGetVersion, int* version) {
  const char* wanted = std::getenv("FAKE_NCCL_VERSION");
  *version = wanted != nullptr ? std::atoi(wanted) : 22809;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommCuDevice, const ncclComm_t c, int* device) {
  return *device = c->device, answer(c);
}
NCCL_API(ncclResult_t, ncclCommUserRank, const ncclComm_t c, int* rank) {
  return *rank = c->rank, answer(c);
}
NCCL_API(ncclResult_t, ncclCommCount, const ncclComm_t c, int* count) {
  return *count = c->ranks, answer(c);
}
NCCL_API(ncclResult_t, ncclCommGetAsyncError, ncclComm_t c, ncclResult_t* error) {
  if (c->split_to != nullptr) *std::exchange(c->split_to, nullptr) = make(1, 0, true);
  return *error = c->ready ? ncclSuccess : ncclInProgress, ncclSuccess;
}
NCCL_API(ncclResult_t, ncclGroupStart) {
  ++depth;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclGroupEnd) {
  return depth == 0 ? ncclInvalidUsage : end_group();
}
NCCL_API(ncclResult_t, ncclGroupSimulateEnd, ncclSimInfo_t*) {
  --depth;
  queued.clear();
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclSend, const void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclRecv, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAllReduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t c,
         cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclReduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t c,
         cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclBroadcast, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
// Through the PLT, as the real one does: the hook of ncclBroadcast is entered from inside NCCL.
NCCL_API(ncclResult_t, ncclBcast, void* data, size_t count, ncclDataType_t type, int root, ncclComm_t c,
         cudaStream_t s) {
  return ncclBroadcast(data, data, count, type, root, c, s);
}
NCCL_API(ncclResult_t, ncclReduceScatter, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t c,
         cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAllGather, const void*, void*, size_t, ncclDataType_t, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAlltoAll, const void*, void*, size_t, ncclDataType_t, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclGather, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclScatter, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAllReduceConfig, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t c,
         cudaStream_t s, const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclReduceConfig, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t c,
         cudaStream_t s, const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclBroadcastConfig, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c,
         cudaStream_t s, const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclReduceScatterConfig, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t c,
         cudaStream_t s, const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAllGatherConfig, const void*, void*, size_t, ncclDataType_t, ncclComm_t c, cudaStream_t s,
         const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclAlltoAllConfig, const void*, void*, size_t, ncclDataType_t, ncclComm_t c, cudaStream_t s,
         const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclGatherConfig, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s,
         const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclScatterConfig, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t s,
         const ncclCollConfig_t*) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclPutSignal, const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int,
         unsigned int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclSignal, int, int, int, unsigned int, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclWaitSignal, int, ncclWaitSignalDesc_t*, ncclComm_t c, cudaStream_t s) {
  return operate(c, s);
}
NCCL_API(ncclResult_t, ncclCommInitRank, ncclComm_t* place, int ranks, ncclUniqueId, int rank) {
  *place = make(ranks, rank, true);
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* place, int ranks, ncclUniqueId, int rank,
         ncclConfig_t* config) {
  *place = make(ranks, rank, config->blocking != 0);
  return config->blocking != 0 ? ncclSuccess : ncclInProgress;
}
NCCL_API(ncclResult_t, ncclCommInitAll, ncclComm_t* places, int devices, const int* list) {
  for (int index = 0; index < devices; ++index) {
    places[index] =
        new ncclComm{list == nullptr ? index : list[index], index, devices, true, true, {}, nullptr, nullptr};
  }
  return ncclSuccess;
}
// Not blocking: the new one is not there before the next question about the old one.
NCCL_API(ncclResult_t, ncclCommSplit, ncclComm_t parent, int, int, ncclComm_t* place, ncclConfig_t* config) {
  if (config != nullptr && config->blocking == 0) return parent->split_to = place, *place = nullptr, ncclInProgress;
  *place = new ncclComm{parent->device, 0, 1, true, true, {}, nullptr, nullptr};
  return ncclSuccess;
}
// A rank of the parent keeps its number; one that joins has no parent.
NCCL_API(ncclResult_t, ncclCommGrow, ncclComm_t parent, int ranks, const ncclUniqueId*, int rank, ncclComm_t* place,
         ncclConfig_t* config) {
  const bool blocking = config == nullptr || config->blocking != 0;
  *place = make(ranks, parent != nullptr ? parent->rank : rank, blocking);
  return blocking ? ncclSuccess : ncclInProgress;
}
// NCCL waits for the device, by a call that meets a hook.
NCCL_API(ncclResult_t, ncclCommSuspend, ncclComm_t, int) {
  return refusal != ncclSuccess ? refusal : cuCtxSynchronize() == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}
NCCL_API(ncclResult_t, ncclCommResume, ncclComm_t) {
  return refusal;
}
NCCL_API(ncclResult_t, ncclCommFinalize, ncclComm_t c) {
  if (refusal != ncclSuccess) return refusal;
  if (in_close != nullptr) in_close();
  if (c->blocking) return ncclSuccess;
  c->ready = false;
  return ncclInProgress;
}
NCCL_API(ncclResult_t, ncclCommRevoke, ncclComm_t c, int) {
  return c->ready ? ncclSuccess : ncclInvalidArgument;
}
NCCL_API(ncclResult_t, ncclCommDestroy, ncclComm_t c) {
  if (c->own != nullptr) cuStreamDestroy_v2(c->own);
  delete destroyed.exchange(c);
  if (in_close != nullptr) in_close();  // the handle may be another one's before the call returns
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommAbort, ncclComm_t c) {
  if (in_close != nullptr) in_close();
  delete c;
  return ncclSuccess;
}
