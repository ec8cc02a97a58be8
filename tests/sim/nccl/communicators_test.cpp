// Communicators in several processes: splitting, non-blocking ones, abort and death, forked children, wrong arguments.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "ranks.h"
#include "segment.h"

using ranks::Buffer;

namespace {

void all_reduce_of_ones(ncclComm_t communicator, int expected) {
  const CUstream stream = ranks::stream();
  Buffer<int> data(100, 1);
  NCCL(ncclAllReduce(data.data(), data.data(), 100, ncclInt32, ncclSum, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  CHECK_EQ(data[99], expected);
}

// Polls as an application does, for a state other than the given one.
ncclResult_t state_after(ncclComm_t communicator, ncclResult_t passing) {
  ncclResult_t state = passing;
  for (int i = 0; i < 20'000 && state == passing; ++i) {
    NCCL(ncclCommGetAsyncError(communicator, &state));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

}  // namespace

SCENARIO(split) {
  const ncclComm_t world = self.communicator();
  // Ranks 0 and 2 in reverse order, rank 1 alone, rank 3 in none.
  const int color = self.rank == 3 ? NCCL_SPLIT_NOCOLOR : self.rank % 2;
  ncclComm_t part = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = 1;
  NCCL(ncclCommSplit(world, color, 10 - self.rank, &part, &config));
  if (self.rank == 3) {
    CHECK(part == nullptr);
  } else {
    int count = 0, rank = -1, device = -1;
    NCCL(ncclCommCount(part, &count));
    NCCL(ncclCommUserRank(part, &rank));
    NCCL(ncclCommCuDevice(part, &device));
    CHECK_EQ(count, self.rank == 1 ? 1 : 2);
    CHECK_EQ(rank, self.rank == 0 ? 1 : 0);
    CHECK_EQ(device, 0);
    all_reduce_of_ones(part, count);
    NCCL(ncclCommDestroy(part));
  }
  all_reduce_of_ones(world, self.count);
  NCCL(ncclCommDestroy(world));
}

TEST(Communicators, Split) {
  EXPECT_TRUE(ranks::run("split", {.count = 4}).finished);
}

SCENARIO(non_blocking) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t communicator = nullptr;
  const ncclResult_t made = ncclCommInitRankConfig(&communicator, self.count, self.id, self.rank, &config);
  CHECK_EQ(made, ncclInProgress);
  CHECK(communicator != nullptr);
  CHECK_EQ(state_after(communicator, ncclInProgress), ncclSuccess);
  const CUstream stream = ranks::stream();
  Buffer<int> given(10, self.rank), taken(10, -1);
  const int peer = 1 - self.rank;
  // Rank 1 comes late: rank 0's group cannot be launched yet, so its end has to say that it is in progress.
  if (self.rank == 1) self.wait_for(0, 1);
  NCCL(ncclGroupStart());
  NCCL(ncclSend(given.data(), 10, ncclInt32, peer, communicator, stream));
  NCCL(ncclRecv(taken.data(), 10, ncclInt32, peer, communicator, stream));
  CHECK_EQ(ncclGroupEnd(), ncclInProgress);
  if (self.rank == 0) {
    ncclResult_t state = ncclSuccess;
    NCCL(ncclCommGetAsyncError(communicator, &state));
    CHECK_EQ(state, ncclInProgress);
    CHECK_EQ(ncclSend(given.data(), 10, ncclInt32, peer, communicator, stream), ncclInvalidArgument);
    self.tell(0);
  }
  CHECK_EQ(state_after(communicator, ncclInProgress), ncclSuccess);
  CUDA(cuStreamSynchronize(stream));
  CHECK_EQ(taken[9], peer);
  CHECK_EQ(ncclCommFinalize(communicator), ncclInProgress);
  CHECK_EQ(state_after(communicator, ncclInProgress), ncclSuccess);
  NCCL(ncclCommDestroy(communicator));
}

TEST(Communicators, NonBlocking) {
  EXPECT_TRUE(ranks::run("non_blocking", {.count = 2}).finished);
}

SCENARIO(dead_peer) {
  const ncclComm_t communicator = self.communicator();
  all_reduce_of_ones(communicator, 2);
  const CUstream stream = ranks::stream();
  Buffer<int> data(10);
  // The connection is there, and one message comes through.
  if (self.rank == 1) {
    NCCL(ncclSend(data.data(), 10, ncclInt32, 0, communicator, stream));
    self.wait_for(0, 1);
    raise(SIGKILL);
  }
  NCCL(ncclRecv(data.data(), 10, ncclInt32, 1, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  NCCL(ncclRecv(data.data(), 10, ncclInt32, 1, communicator, stream));
  self.tell(0);
  CHECK_EQ(state_after(communicator, ncclSuccess), ncclRemoteError);
  CHECK_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  CHECK_EQ(ncclRecv(data.data(), 10, ncclInt32, 1, communicator, stream), ncclRemoteError);
  NCCL(ncclCommAbort(communicator));
  CUDA(cuStreamSynchronize(stream));
}

TEST(Communicators, AbortAfterAPeerHasDied) {
  EXPECT_TRUE(ranks::run("dead_peer", {.count = 2, .killed = 1}).finished);
}

SCENARIO(dead_before_joining) {
  if (self.rank == 2) {
    self.wait_for(0, 1);
    raise(SIGKILL);
  }
  ncclComm_t communicator = nullptr;
  if (self.rank == 1) {
    // Enters itself and dies while the others wait for rank 2.
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    CHECK_EQ(ncclCommInitRankConfig(&communicator, 3, self.id, 1, &config), ncclInProgress);
    simgpu::nccl::Address address;
    std::memcpy(&address, self.id.internal, sizeof address);
    const char* error = nullptr;
    const auto segment = simgpu::nccl::Segment::open(address, 3, &error);
    CHECK(segment != nullptr);
    while (segment->rank(1).joined.load() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::_Exit(0);
  }
  CHECK_EQ(ncclCommInitRank(&communicator, 3, self.id, 0), ncclRemoteError);
  CHECK(communicator != nullptr);
  NCCL(ncclCommAbort(communicator));
  self.tell(0);
}

TEST(Communicators, APeerDiesWhileTheyMeet) {
  EXPECT_TRUE(ranks::run("dead_before_joining", {.count = 3, .killed = 2}).finished);
}

SCENARIO(abort_while_meeting) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t communicator = nullptr;
  CHECK_EQ(ncclCommInitRankConfig(&communicator, 2, self.id, 0, &config), ncclInProgress);
  NCCL(ncclCommAbort(communicator));
}

TEST(Communicators, AbortWhileNobodyElseComes) {
  EXPECT_TRUE(ranks::run("abort_while_meeting", {.count = 1}).finished);
}

SCENARIO(forked_child) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<int> data(10);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    bool good =
        ncclAllReduce(data.data(), data.data(), 10, ncclInt32, ncclSum, communicator, stream) == ncclInvalidUsage;
    good = good && ncclCommAbort(communicator) == ncclInvalidUsage;
    ncclComm_t mine = nullptr;
    ncclUniqueId id;
    good = good && ncclGetUniqueId(&id) == ncclSuccess;
    good = good && ncclCommInitRank(&mine, 1, id, 0) == ncclUnhandledCudaError;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  all_reduce_of_ones(communicator, self.count);
  NCCL(ncclCommDestroy(communicator));
}

TEST(Communicators, ForkedChild) {
  EXPECT_TRUE(ranks::run("forked_child", {.count = 2}).finished);
}

SCENARIO(sizes_differ) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<int> data(1000);
  if (self.rank == 0) {
    NCCL(ncclSend(data.data(), 100, ncclInt32, 1, communicator, stream));
    self.wait_for(0, 1);
  } else {
    NCCL(ncclRecv(data.data(), 200, ncclInt32, 0, communicator, stream));
    CHECK_EQ(state_after(communicator, ncclSuccess), ncclInternalError);
    CUDA(cuStreamSynchronize(stream));
    self.tell(0);
  }
  NCCL(ncclCommAbort(communicator));
}

TEST(Communicators, SizesThatDifferAreAnAsynchronousError) {
  EXPECT_TRUE(ranks::run("sizes_differ", {.count = 2}).finished);
}

SCENARIO(revoked) {
  const ncclComm_t communicator = self.communicator();
  all_reduce_of_ones(communicator, self.count);
  const CUstream stream = ranks::stream();
  Buffer<int> data(10);
  NCCL(ncclAllReduce(data.data(), data.data(), 10, ncclInt32, ncclSum, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  NCCL(ncclCommRevoke(communicator, 0));
  CHECK_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt32, ncclSum, communicator, stream), ncclInvalidUsage);
  NCCL(ncclCommDestroy(communicator));
}

TEST(Communicators, Revoke) {
  EXPECT_TRUE(ranks::run("revoked", {.count = 2}).finished);
}

SCENARIO(wrong_arguments) {
  ncclComm_t communicator = nullptr;
  int one = 0;
  CHECK_EQ(ncclCommInitRank(&communicator, 1, self.id, 1), ncclInvalidArgument);
  CHECK_EQ(ncclCommInitRank(nullptr, 1, self.id, 0), ncclInvalidArgument);
  CHECK_EQ(ncclCommInitRank(&communicator, 1, ncclUniqueId{}, 0), ncclInvalidArgument);
  ncclConfig_t config{};
  CHECK_EQ(ncclCommInitRankConfig(&communicator, 1, self.id, 0, &config), ncclInvalidArgument);
  NCCL(ncclCommInitAll(&communicator, 1, nullptr));
  CHECK_EQ(ncclCommCount(nullptr, &one), ncclInvalidArgument);
  CHECK_EQ(ncclCommCount(communicator, nullptr), ncclInvalidArgument);
  NCCL(ncclCommCount(communicator, &one));
  CHECK_EQ(one, 1);
  Buffer<float> data(10, 3);
  const CUstream stream = ranks::stream();
  const auto wrong = static_cast<ncclDataType_t>(12);
  CHECK_EQ(ncclSend(data.data(), 1, ncclFloat, 1, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclSend(data.data(), 1, ncclFloat, -1, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclSend(data.data(), 1, wrong, 0, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclSend(nullptr, 1, ncclFloat, 0, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclSend(data.data(), 1, ncclFloat, 0, nullptr, stream), ncclInvalidArgument);
  CHECK_EQ(ncclSend(data.data(), 1, ncclFloat, 0, communicator, stream), ncclInvalidUsage);
  CHECK_EQ(ncclBroadcast(data.data(), data.data(), 1, ncclFloat, 1, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclAllReduce(data.data(), data.data(), 1, ncclFloat, ncclNumOps, communicator, stream),
           ncclInvalidArgument);
  CHECK_EQ(ncclGroupEnd(), ncclInvalidUsage);
  // An error inside a group is the group's.
  NCCL(ncclGroupStart());
  CHECK_EQ(ncclSend(data.data(), 1, ncclFloat, 7, communicator, stream), ncclInvalidArgument);
  CHECK_EQ(ncclGroupEnd(), ncclInvalidArgument);
  NCCL(ncclGroupStart());
  CHECK_EQ(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage);
  CHECK_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ncclComm_t shrunk = nullptr;
  CHECK_EQ(ncclCommShrink(communicator, &one, 1, &shrunk, nullptr, NCCL_SHRINK_DEFAULT), ncclInvalidUsage);
  CHECK(std::string(ncclGetLastError(communicator)).find("ncclCommShrink") != std::string::npos);
  void* memory = nullptr;
  NCCL(ncclMemAlloc(&memory, 100));
  NCCL(ncclMemFree(memory));
  all_reduce_of_ones(communicator, 1);
  NCCL(ncclCommDestroy(communicator));
}

TEST(Communicators, WrongArguments) {
  EXPECT_TRUE(ranks::run("wrong_arguments", {.count = 1}).finished);
}

// One process, one thread, two devices.
SCENARIO(two_devices) {
  ncclComm_t communicators[2] = {};
  NCCL(ncclCommInitAll(communicators, 2, nullptr));
  CUcontext contexts[2] = {};
  CUstream streams[2] = {};
  CUdeviceptr memory[2] = {};
  const int values[2] = {3, 4};
  for (int device = 0; device < 2; ++device) {
    CUDA(cuDevicePrimaryCtxRetain(&contexts[device], device));
    CUDA(cuCtxSetCurrent(contexts[device]));
    CUDA(cuStreamCreate(&streams[device], CU_STREAM_NON_BLOCKING));
    CUDA(cuMemAlloc(&memory[device], sizeof(int)));
    CUDA(cuMemcpyHtoD(memory[device], &values[device], sizeof(int)));
    int number = -1;
    NCCL(ncclCommCuDevice(communicators[device], &number));
    CHECK_EQ(number, device);
  }
  NCCL(ncclGroupStart());
  for (int device = 0; device < 2; ++device) {
    void* data = reinterpret_cast<void*>(memory[device]);
    NCCL(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, communicators[device], streams[device]));
  }
  NCCL(ncclGroupEnd());
  for (int device = 0; device < 2; ++device) {
    CUDA(cuStreamSynchronize(streams[device]));
    int result = 0;
    CUDA(cuMemcpyDtoH(&result, memory[device], sizeof(int)));
    CHECK_EQ(result, 7);
  }
  for (const ncclComm_t communicator : communicators) NCCL(ncclCommDestroy(communicator));
}

TEST(Communicators, TwoDevicesInOneProcess) {
  EXPECT_TRUE(ranks::run("two_devices", {.count = 1, .environment = {{"SIMGPU_DEVICES", "2"}}}).finished);
}

SCENARIO(creator_gone) {
  int pipe_ends[2];
  CHECK_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ncclUniqueId id;
  if (child == 0) {
    ncclGetUniqueId(&id);
    _exit(write(pipe_ends[1], &id, sizeof id) == static_cast<ssize_t>(sizeof id) ? 0 : 1);
  }
  CHECK_EQ(read(pipe_ends[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  CHECK_EQ(waitpid(child, nullptr, 0), child);
  ncclComm_t communicator = nullptr;
  CHECK_EQ(ncclCommInitRank(&communicator, 2, id, 0), ncclSystemError);
  NCCL(ncclCommAbort(communicator));
}

TEST(Communicators, TheProcessThatMadeTheIdIsGone) {
  EXPECT_TRUE(ranks::run("creator_gone", {.count = 1}).finished);
}
