// The API of the stand-in NCCL; see stand_in.h. Names come in weak/strong pairs (ncclSend is pncclSend), as in the real
// library. Any one thread at a time issues operations; memory is allocated when a communicator is made, never later.
#include <nccl.h>

#include <atomic>
#include <vector>

#include "kernels.h"

struct ncclComm {
  int device = 0;
  int rank = 0;
  int ranks = 0;
  std::uint32_t* abort = nullptr;  // pinned
};

namespace {

constexpr std::size_t most_records = 1 << 16;
constexpr std::int64_t collective_length = 5'000;  // ns

struct Memory {
  stand_in_record* records = nullptr;  // pinned
  std::uint32_t* state = nullptr;      // device
};
Memory memory;
std::atomic<std::size_t> receives{0};
std::atomic<std::int64_t> receive_length{0};

// The contents of a group so far.
struct Group {
  int depth = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  bool collective = false;
  std::vector<stand_in::Message> messages;
};
thread_local Group group;

ncclResult_t cuda(cudaError_t result) {
  return result == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

ncclResult_t launch_group() {
  stand_in::Receive receive{};
  receive.length = group.collective ? collective_length : 0;
  receive.abort = group.communicator->abort;
  receive.state = memory.state;
  if (!group.messages.empty()) {
    const std::size_t number = receives.load();
    if (number == most_records || group.messages.size() > stand_in::most_messages) return ncclInvalidUsage;
    receive.length = receive_length.load();
    receive.record = memory.records + number;
    receive.number = static_cast<std::uint32_t>(number);
    for (const stand_in::Message& message : group.messages) receive.message[receive.messages++] = message;
    receives.store(number + 1);
  }
  return cuda(stand_in::launch(receive, group.stream));
}

ncclResult_t end_group() {
  if (--group.depth != 0) return ncclSuccess;
  const ncclResult_t result = group.communicator != nullptr ? launch_group() : ncclSuccess;
  group = {};
  return result;
}

// Adds an operation to the open group, or makes it a group of its own. One communicator and stream per group.
ncclResult_t operate(ncclComm_t communicator, cudaStream_t stream, const stand_in::Message* message, bool collective) {
  if (communicator == nullptr) return ncclInvalidArgument;
  ++group.depth;
  const bool first = group.communicator == nullptr;
  const bool fits = first || (group.communicator == communicator && group.stream == stream);
  if (fits) {
    group.communicator = communicator;
    group.stream = stream;
    group.collective |= collective;
    if (message != nullptr) group.messages.push_back(*message);
  }
  const ncclResult_t result = end_group();
  return fits ? result : ncclInvalidUsage;
}

ncclResult_t give_back_input(const void* in, void* out, std::size_t bytes, ncclComm_t communicator,
                             cudaStream_t stream) {
  if (in != out) {
    const cudaError_t result = cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream);
    if (result != cudaSuccess) return ncclUnhandledCudaError;
  }
  return operate(communicator, stream, nullptr, true);
}

cudaError_t prepare_memory() {
  if (memory.records != nullptr) return cudaSuccess;
  void* host = nullptr;
  void* device = nullptr;
  cudaError_t result = cudaMallocHost(&host, most_records * sizeof(stand_in_record));
  if (result == cudaSuccess) result = cudaMalloc(&device, stand_in::held_words * sizeof(std::uint32_t));
  if (result == cudaSuccess) result = cudaMemset(device, 0, stand_in::held_words * sizeof(std::uint32_t));
  if (result == cudaSuccess) result = stand_in::prepare();
  if (result != cudaSuccess) return result;
  memory.records = static_cast<stand_in_record*>(host);
  memory.state = static_cast<std::uint32_t*>(device);
  for (std::size_t i = 0; i < most_records; ++i) memory.records[i] = {};
  return cudaSuccess;
}

ncclResult_t create(ncclComm_t* place, int ranks, int rank) {
  auto* communicator = new ncclComm{0, rank, ranks, nullptr};
  void* word = nullptr;
  cudaError_t result = cudaGetDevice(&communicator->device);
  if (result == cudaSuccess) result = prepare_memory();
  if (result == cudaSuccess) result = cudaMallocHost(&word, sizeof(std::uint32_t));
  if (result != cudaSuccess) {
    delete communicator;
    return ncclUnhandledCudaError;
  }
  communicator->abort = static_cast<std::uint32_t*>(word);
  *communicator->abort = 0;
  *place = communicator;
  return ncclSuccess;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void stand_in_next_receive(int64_t nanoseconds) {
  receive_length.store(nanoseconds);
}

extern "C" __attribute__((visibility("default"))) size_t stand_in_records(const stand_in_record** records) {
  *records = memory.records;
  return receives.load();
}

#define NCCL_API(result, name, ...)                                                                   \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) result name(__VA_ARGS__); \
  extern "C" __attribute__((visibility("default"))) result p##name(__VA_ARGS__)

NCCL_API(ncclResult_t, ncclGetVersion, int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclGetUniqueId, ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
NCCL_API(const char*, ncclGetErrorString, ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "the stand-in NCCL cannot do that, or a CUDA call in it failed";
}
NCCL_API(ncclResult_t, ncclCommInitRank, ncclComm_t* place, int ranks, ncclUniqueId, int rank) {
  return create(place, ranks, rank);
}
NCCL_API(ncclResult_t, ncclCommInitRankConfig, ncclComm_t* place, int ranks, ncclUniqueId, int rank, ncclConfig_t*) {
  return create(place, ranks, rank);
}
NCCL_API(ncclResult_t, ncclCommInitAll, ncclComm_t* places, int devices, const int*) {
  return devices == 1 ? create(places, 1, 0) : ncclInvalidUsage;
}
NCCL_API(ncclResult_t, ncclCommSplit, ncclComm_t parent, int, int, ncclComm_t* place, ncclConfig_t*) {
  return create(place, parent->ranks, parent->rank);
}
NCCL_API(ncclResult_t, ncclCommFinalize, ncclComm_t) {
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommDestroy, ncclComm_t communicator) {
  const cudaError_t result = cudaFreeHost(communicator->abort);
  delete communicator;
  return cuda(result);
}
// Ends a kernel that spins. The word stays: the kernel may be about to look at it.
NCCL_API(ncclResult_t, ncclCommAbort, ncclComm_t communicator) {
  *static_cast<volatile std::uint32_t*>(communicator->abort) = 1;
  delete communicator;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommGetAsyncError, ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommCuDevice, const ncclComm_t communicator, int* device) {
  *device = communicator->device;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommUserRank, const ncclComm_t communicator, int* rank) {
  *rank = communicator->rank;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclCommCount, const ncclComm_t communicator, int* ranks) {
  *ranks = communicator->ranks;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclGroupStart) {
  ++group.depth;
  return ncclSuccess;
}
NCCL_API(ncclResult_t, ncclGroupEnd) {
  return group.depth == 0 ? ncclInvalidUsage : end_group();
}
NCCL_API(ncclResult_t, ncclSend, const void*, size_t, ncclDataType_t, int, ncclComm_t communicator,
         cudaStream_t stream) {
  return operate(communicator, stream, nullptr, false);
}
NCCL_API(ncclResult_t, ncclRecv, void* data, size_t count, ncclDataType_t type, int, ncclComm_t communicator,
         cudaStream_t stream) {
  const stand_in::Message message{static_cast<std::uint32_t*>(data),
                                  static_cast<std::int32_t>(count * bytes_of(type) / sizeof(std::uint32_t))};
  return operate(communicator, stream, &message, false);
}
NCCL_API(ncclResult_t, ncclAllReduce, const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t,
         ncclComm_t communicator, cudaStream_t stream) {
  return give_back_input(in, out, count * bytes_of(type), communicator, stream);
}
NCCL_API(ncclResult_t, ncclReduce, const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t, int,
         ncclComm_t communicator, cudaStream_t stream) {
  return give_back_input(in, out, count * bytes_of(type), communicator, stream);
}
NCCL_API(ncclResult_t, ncclBroadcast, const void* in, void* out, size_t count, ncclDataType_t type, int,
         ncclComm_t communicator, cudaStream_t stream) {
  return give_back_input(in, out, count * bytes_of(type), communicator, stream);
}
NCCL_API(ncclResult_t, ncclBcast, void* data, size_t count, ncclDataType_t type, int, ncclComm_t communicator,
         cudaStream_t stream) {
  return give_back_input(data, data, count * bytes_of(type), communicator, stream);
}
NCCL_API(ncclResult_t, ncclReduceScatter, const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t,
         ncclComm_t communicator, cudaStream_t stream) {
  return give_back_input(in, out, count * bytes_of(type), communicator, stream);
}
NCCL_API(ncclResult_t, ncclAllGather, const void* in, void* out, size_t count, ncclDataType_t type,
         ncclComm_t communicator, cudaStream_t stream) {
  return give_back_input(in, out, count * bytes_of(type), communicator, stream);
}
