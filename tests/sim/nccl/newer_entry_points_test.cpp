// NCCL 2.29 to 2.31 in several processes: collectives with a configuration, communicators that grow, are suspended and
// resumed, puts and signals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "ranks.h"
#include "shim/routing/newer_nccl.h"

using ranks::Buffer;

namespace {

void all_reduce_of_ones(ncclComm_t communicator, int expected) {
  const CUstream stream = ranks::stream();
  Buffer<int> data(100, 1);
  const ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  NCCL(ncclAllReduceConfig(data.data(), data.data(), 100, ncclInt32, ncclSum, communicator, stream, &config));
  CUDA(cuStreamSynchronize(stream));
  CHECK_EQ(data[99], expected);
  CUDA(cuStreamDestroy(stream));
}

ncclResult_t wait_for(std::vector<ncclWaitSignalDesc_t> signals, ncclComm_t communicator, CUstream stream) {
  return ncclWaitSignal(static_cast<int>(signals.size()), signals.data(), communicator, stream);
}

// Memory of a window on every rank.
template <class T>
struct Window {
  Window(ncclComm_t communicator, size_t size) : buffer(size) {
    NCCL(ncclCommWindowRegister(communicator, buffer.data(), size * sizeof(T), &handle, NCCL_WIN_COLL_SYMMETRIC));
  }
  Buffer<T> buffer;
  ncclWindow_t handle = nullptr;
};

}  // namespace

SCENARIO(configured_collectives) {
  const ncclComm_t c = self.communicator();
  const CUstream s = ranks::stream();
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.maxCTAs = 2;
  const auto n = static_cast<size_t>(self.count);
  const auto count = size_t{10};
  const auto type = ncclInt32;
  const int sum = self.count * (self.count + 1) / 2;
  Buffer<int> one(count, self.rank + 1), each(count * n, self.rank + 1), out(count, -1), all(count * n, -1);
  const auto ended = [&](ncclResult_t result) {
    NCCL(result);
    CUDA(cuStreamSynchronize(s));
  };
  ended(ncclAllReduceConfig(one.data(), out.data(), count, type, ncclSum, c, s, &config));
  CHECK_EQ(out[9], sum);
  ended(ncclReduceConfig(one.data(), out.data(), count, type, ncclMax, 1, c, s, &config));
  CHECK_EQ(out[9], self.rank == 1 ? self.count : sum);
  ended(ncclBroadcastConfig(one.data(), out.data(), count, type, 1, c, s, nullptr));
  CHECK_EQ(out[9], 2);
  ended(ncclReduceScatterConfig(each.data(), out.data(), count, type, ncclSum, c, s, &config));
  CHECK_EQ(out[9], sum);
  ended(ncclAllGatherConfig(one.data(), all.data(), count, type, c, s, &config));
  CHECK_EQ(all[count * n - 1], self.count);
  ended(ncclAlltoAllConfig(each.data(), all.data(), count, type, c, s, &config));
  CHECK_EQ(all[count * n - 1], self.count);
  ended(ncclGatherConfig(one.data(), all.data(), count, type, 0, c, s, &config));
  CHECK_EQ(all[0], 1);
  ended(ncclScatterConfig(each.data(), out.data(), count, type, 1, c, s, &config));
  CHECK_EQ(out[9], 2);
  // A refused configuration does not spoil the group.
  config.magic = 0;
  NCCL(ncclGroupStart());
  CHECK_EQ(ncclAllReduceConfig(one.data(), out.data(), count, type, ncclSum, c, s, &config), ncclInvalidArgument);
  ended(ncclGroupEnd());
  config = NCCL_COLLCONFIG_INITIALIZER;
  config.forceAlgSelection = 2;
  CHECK_EQ(ncclAllReduceConfig(one.data(), out.data(), count, type, ncclSum, c, s, &config), ncclInvalidArgument);
  NCCL(ncclCommDestroy(c));
}

TEST(NewerEntryPoints, ConfiguredCollectives) {
  EXPECT_TRUE(ranks::run("configured_collectives", {.count = 3}).finished);
}

// Ranks 0 and 1 are there first, ranks 2 and 3 join; rank 1 makes the id.
SCENARIO(grow) {
  static_assert(sizeof(ncclUniqueId) <= sizeof self.shared->bytes);
  ncclComm_t parent = nullptr, grown = nullptr;
  ncclUniqueId id;
  if (self.rank < 2) {
    NCCL(ncclCommInitRank(&parent, 2, self.id, self.rank));
    all_reduce_of_ones(parent, 2);
    CHECK_EQ(ncclCommGrow(parent, 2, nullptr, -1, &grown, nullptr), ncclInvalidArgument);
    CHECK_EQ(ncclCommGrow(parent, 4, nullptr, self.rank, &grown, nullptr), ncclInvalidArgument);
    if (self.rank == 1) {
      NCCL(ncclCommGetUniqueId(parent, &id));
      std::memcpy(self.shared->bytes, &id, sizeof id);
      self.tell(0);
    }
    NCCL(ncclCommGrow(parent, 4, self.rank == 1 ? &id : nullptr, -1, &grown, nullptr));
  } else {
    self.wait_for(0, 1);
    std::memcpy(&id, self.shared->bytes, sizeof id);
    CHECK_EQ(ncclCommGrow(nullptr, 4, nullptr, self.rank, &grown, nullptr), ncclInvalidArgument);
    NCCL(ncclCommGrow(nullptr, 4, &id, self.rank, &grown, nullptr));
  }
  int rank = -1, count = 0;
  NCCL(ncclCommUserRank(grown, &rank));
  NCCL(ncclCommCount(grown, &count));
  CHECK_EQ(rank, self.rank);
  CHECK_EQ(count, 4);
  all_reduce_of_ones(grown, 4);
  if (parent != nullptr) {
    all_reduce_of_ones(parent, 2);
    NCCL(ncclCommDestroy(parent));
  }
  NCCL(ncclCommDestroy(grown));
}

TEST(NewerEntryPoints, Grow) {
  EXPECT_TRUE(ranks::run("grow", {.count = 4}).finished);
}

SCENARIO(grow_without_an_id) {
  const ncclComm_t parent = self.communicator();
  ncclComm_t grown = nullptr;
  CHECK_EQ(ncclCommGrow(parent, 3, nullptr, -1, &grown, nullptr), ncclInvalidArgument);
  NCCL(ncclCommAbort(grown));
  all_reduce_of_ones(parent, 2);
  NCCL(ncclCommDestroy(parent));
}

TEST(NewerEntryPoints, GrowWithoutAnIdIsAnError) {
  EXPECT_TRUE(ranks::run("grow_without_an_id", {.count = 2}).finished);
}

SCENARIO(suspend_and_resume) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<int> data(100, self.rank);
  const auto pass_on = [&] {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(data.data(), 50, ncclInt32, 1 - self.rank, communicator, stream));
    NCCL(ncclRecv(data.data() + 50, 50, ncclInt32, 1 - self.rank, communicator, stream));
    NCCL(ncclGroupEnd());
    CUDA(cuStreamSynchronize(stream));
    CHECK_EQ(data[99], 1 - self.rank);
  };
  size_t connected = 0, suspended = 0, resumed = 0, total = 0;
  pass_on();
  CUDA(cuMemGetInfo(&connected, &total));
  CHECK_EQ(ncclCommResume(communicator), ncclInvalidUsage);
  NCCL(ncclCommSuspend(communicator, 0));
  NCCL(ncclCommSuspend(communicator, NCCL_SUSPEND_MEM));
  CUDA(cuMemGetInfo(&suspended, &total));
  CHECK(suspended > connected);
  CHECK_EQ(ncclCommSuspend(communicator, NCCL_SUSPEND_MEM), ncclInvalidUsage);
  CHECK_EQ(ncclSend(data.data(), 1, ncclInt32, 1 - self.rank, communicator, stream), ncclInvalidUsage);
  int rank = -1;
  NCCL(ncclCommUserRank(communicator, &rank));
  NCCL(ncclCommResume(communicator));
  CUDA(cuMemGetInfo(&resumed, &total));
  CHECK_EQ(resumed, connected);
  pass_on();
  // A communicator that shares its parent's memory cannot be suspended alone.
  ncclComm_t part = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = 1;
  NCCL(ncclCommSplit(communicator, 0, self.rank, &part, &config));
  CHECK_EQ(ncclCommSuspend(part, NCCL_SUSPEND_MEM), ncclInvalidUsage);
  NCCL(ncclCommDestroy(part));
  NCCL(ncclCommSuspend(communicator, NCCL_SUSPEND_MEM));
  NCCL(ncclCommDestroy(communicator));
}

TEST(NewerEntryPoints, SuspendAndResume) {
  EXPECT_TRUE(ranks::run("suspend_and_resume", {.count = 2}).finished);
}

// Rank 0 waits for rank 1's data and answers; several times, with puts that fit the FIFO and puts that do not.
SCENARIO(ping_pong) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const size_t most = 600'000;
  Window<int> given(communicator, most), taken(communicator, most);
  const int peer = 1 - self.rank;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, most}) {
    std::iota(given.buffer.begin(), given.buffer.end(), self.rank * 7);
    std::fill(taken.buffer.begin(), taken.buffer.end(), -1);
    const auto put = [&] {
      NCCL(ncclPutSignal(given.buffer.data(), size, ncclInt32, peer, taken.handle, (most - size) * sizeof(int), 0, 0, 0,
                         communicator, stream));
    };
    if (self.rank == 1) put();
    NCCL(wait_for({{1, peer, 0, 0}}, communicator, stream));
    if (self.rank == 0) put();
    CUDA(cuStreamSynchronize(stream));
    for (size_t i = 0; i < most; ++i) {
      const size_t first = most - size;
      CHECK_EQ(taken.buffer[i], i < first ? -1 : static_cast<int>(i - first) + peer * 7);
    }
    // Both have looked before the next round overwrites.
    NCCL(ncclSignal(peer, 0, 0, 0, communicator, stream));
    NCCL(wait_for({{1, peer, 0, 0}}, communicator, stream));
    CUDA(cuStreamSynchronize(stream));
  }
  NCCL(ncclCommWindowDeregister(communicator, taken.handle));
  NCCL(ncclCommDestroy(communicator));
}

TEST(NewerEntryPoints, PutAndWait) {
  EXPECT_TRUE(ranks::run("ping_pong", {.count = 2}).finished);
  EXPECT_TRUE(ranks::run("ping_pong", {.count = 2, .environment = {{"SIMGPU_NCCL_FIFO", "4096"}}}).finished);
}

// To oneself too. A put is in its place before its signal, and a wait for several takes all of them.
SCENARIO(signals_of_all) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const auto n = static_cast<size_t>(self.count);
  Window<int> given(communicator, 1), taken(communicator, n);
  given.buffer[0] = self.rank + 1;
  std::vector<ncclWaitSignalDesc_t> from_all;
  NCCL(ncclGroupStart());
  for (int peer = 0; peer < self.count; ++peer) {
    NCCL(ncclPutSignal(given.buffer.data(), 1, ncclInt32, peer, taken.handle,
                       static_cast<size_t>(self.rank) * sizeof(int), 0, 0, 0, communicator, stream));
    NCCL(ncclSignal(peer, 0, 0, 0, communicator, stream));
    from_all.push_back({2, peer, 0, 0});
  }
  NCCL(ncclGroupEnd());
  NCCL(wait_for(from_all, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  for (size_t peer = 0; peer < n; ++peer) CHECK_EQ(taken.buffer[peer], static_cast<int>(peer) + 1);
  // Sends and receives between the same ranks have links of their own.
  const int next = (self.rank + 1) % self.count, previous = (self.rank + self.count - 1) % self.count;
  Buffer<int> passed(1, -1);
  NCCL(ncclSignal(next, 0, 0, 0, communicator, stream));
  NCCL(ncclGroupStart());
  NCCL(ncclSend(given.buffer.data(), 1, ncclInt32, next, communicator, stream));
  NCCL(ncclRecv(passed.data(), 1, ncclInt32, previous, communicator, stream));
  NCCL(ncclGroupEnd());
  NCCL(wait_for({{1, previous, 0, 0}}, communicator, stream));
  CUDA(cuStreamSynchronize(stream));
  CHECK_EQ(passed[0], previous + 1);
  NCCL(ncclCommDestroy(communicator));
}

TEST(NewerEntryPoints, SignalsOfAll) {
  for (const int count : {1, 3}) EXPECT_TRUE(ranks::run("signals_of_all", {.count = count}).finished) << count;
}

SCENARIO(wrong_one_sided_arguments) {
  const ncclComm_t c = self.communicator();
  const CUstream s = ranks::stream();
  Window<int> window(c, 10);
  Buffer<int> elsewhere(10);
  int* const data = window.buffer.data();
  const auto put = [&](const int* from, size_t count, int peer, ncclWindow_t to, int signal, int context,
                       unsigned int flags) {
    return ncclPutSignal(from, count, ncclInt32, peer, to, 0, signal, context, flags, c, s);
  };
  CHECK_EQ(put(data, 1, 1, window.handle, 0, 0, 0), ncclInvalidArgument);
  CHECK_EQ(put(data, 1, 0, nullptr, 0, 0, 0), ncclInvalidArgument);
  CHECK_EQ(put(data, 1, 0, window.handle, 1, 0, 0), ncclInvalidArgument);
  CHECK_EQ(put(data, 1, 0, window.handle, 0, 1, 0), ncclInvalidArgument);
  CHECK_EQ(put(data, 1, 0, window.handle, 0, 0, 1), ncclInvalidArgument);
  CHECK_EQ(put(data, 11, 0, window.handle, 0, 0, 0), ncclInvalidArgument);
  CHECK_EQ(put(elsewhere.data(), 1, 0, window.handle, 0, 0, 0), ncclInvalidArgument);
  CHECK_EQ(ncclSignal(-1, 0, 0, 0, c, s), ncclInvalidArgument);
  CHECK_EQ(ncclSignal(0, 0, 0, 1, c, s), ncclInvalidArgument);
  CHECK_EQ(ncclWaitSignal(0, nullptr, c, s), ncclInvalidArgument);
  CHECK_EQ(wait_for({{0, 0, 0, 0}}, c, s), ncclInvalidArgument);
  CHECK_EQ(wait_for({{1, 1, 0, 0}}, c, s), ncclInvalidArgument);
  // Beyond the end of the window: the rank that waits for it notices.
  NCCL(ncclPutSignal(data, 5, ncclInt32, 0, window.handle, 6 * sizeof(int), 0, 0, 0, c, s));
  NCCL(wait_for({{1, 0, 0, 0}}, c, s));
  CUDA(cuStreamSynchronize(s));
  ncclResult_t state = ncclSuccess;
  NCCL(ncclCommGetAsyncError(c, &state));
  CHECK_EQ(state, ncclInternalError);
  NCCL(ncclCommAbort(c));
}

TEST(NewerEntryPoints, WrongOneSidedArguments) {
  EXPECT_TRUE(ranks::run("wrong_one_sided_arguments", {.count = 1}).finished);
}
