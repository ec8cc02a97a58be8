// Sends and receives between processes: rings, fused groups, several communicators, times and multiprocessors as
// logged.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "ranks.h"

using ranks::Buffer;

SCENARIO(ring) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const size_t sizes[] = {0, 1, 1000, 300'000, 900'000};
  const int next = (self.rank + 1) % self.count;
  const int previous = (self.rank + self.count - 1) % self.count;
  for (int round = 0; round < 10; ++round) {
    const size_t size = sizes[round % 5];
    Buffer<int> given(size), taken(size, -1);
    std::iota(given.begin(), given.end(), self.rank * 1000 + round);
    NCCL(ncclGroupStart());
    NCCL(ncclSend(given.data(), size, ncclInt32, next, communicator, stream));
    NCCL(ncclRecv(taken.data(), size, ncclInt32, previous, communicator, stream));
    NCCL(ncclGroupEnd());
    CUDA(cuStreamSynchronize(stream));
    for (size_t i = 0; i < size; ++i) CHECK_EQ(taken[i], static_cast<int>(i) + previous * 1000 + round);
  }
  NCCL(ncclCommFinalize(communicator));
  NCCL(ncclCommDestroy(communicator));
}

TEST(Transfers, Ring) {
  for (const int count : {1, 2, 3}) EXPECT_TRUE(ranks::run("ring", {.count = count}).finished) << count;
}

TEST(Transfers, RingWithASmallFifo) {
  EXPECT_TRUE(ranks::run("ring", {.count = 2, .environment = {{"SIMGPU_NCCL_FIFO", "4096"}}}).finished);
}

// One iteration of 1F1B: each stage adds 1 on the way forward, and 10 on the way back; the last one turns it around.
SCENARIO(one_forward_one_backward) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const int microbatches = 6, last = self.count - 1;
  const size_t size = 50'000;
  Buffer<float> forward_in(size), forward_out(size), backward_in(size), backward_out(size);
  const auto forward = [&](int microbatch) {
    CUDA(cuStreamSynchronize(stream));
    for (size_t i = 0; i < size; ++i) {
      forward_out[i] = (self.rank == 0 ? static_cast<float>(microbatch * 100) : forward_in[i]) + 1;
    }
  };
  const auto backward = [&] {
    CUDA(cuStreamSynchronize(stream));
    for (size_t i = 0; i < size; ++i) backward_out[i] = (self.rank == last ? forward_out[i] : backward_in[i]) + 10;
  };
  // Sends and receives with one neighbour in one group.
  const auto trade = [&](int peer, const Buffer<float>* give, const Buffer<float>* take) {
    if (peer < 0 || peer > last) return;
    NCCL(ncclGroupStart());
    if (give != nullptr) NCCL(ncclSend(give->data(), size, ncclFloat32, peer, communicator, stream));
    if (take != nullptr) NCCL(ncclRecv(take->data(), size, ncclFloat32, peer, communicator, stream));
    NCCL(ncclGroupEnd());
  };
  const int warm_up = std::min(microbatches, last - self.rank);
  for (int i = 0; i < warm_up; ++i) {
    trade(self.rank - 1, nullptr, &forward_in);
    forward(i);
    trade(self.rank + 1, &forward_out, nullptr);
  }
  trade(self.rank - 1, nullptr, warm_up < microbatches ? &forward_in : nullptr);
  float sum = 0;
  for (int i = warm_up; i < microbatches; ++i) {
    forward(i);
    trade(self.rank + 1, &forward_out, &backward_in);
    backward();
    sum += backward_out[size - 1];
    trade(self.rank - 1, &backward_out, i + 1 < microbatches ? &forward_in : nullptr);
  }
  for (int i = 0; i < warm_up; ++i) {
    trade(self.rank + 1, nullptr, &backward_in);
    backward();
    sum += backward_out[size - 1];
    trade(self.rank - 1, &backward_out, nullptr);
  }
  CUDA(cuStreamSynchronize(stream));
  const int per_microbatch = self.count + 10 * (self.count - self.rank);
  CHECK_EQ(sum, static_cast<float>(microbatches * (microbatches - 1) / 2 * 100 + microbatches * per_microbatch));
  NCCL(ncclCommDestroy(communicator));
}

TEST(Transfers, FusedOneForwardOneBackward) {
  EXPECT_TRUE(ranks::run("one_forward_one_backward", {.count = 4}).finished);
}

// The two ranks name the communicators in different orders; one of them uses two streams.
SCENARIO(two_communicators) {
  const ncclComm_t world = self.communicator();
  ncclComm_t other = nullptr;
  NCCL(ncclCommSplit(world, 0, -self.rank, &other, nullptr));
  int rank = -1;
  NCCL(ncclCommUserRank(other, &rank));
  CHECK_EQ(rank, 1 - self.rank);
  const CUstream streams[] = {ranks::stream(), ranks::stream(), ranks::stream()};
  Buffer<double> given(1000, self.rank), taken(1000), also(1000);
  const int peer = 1 - self.rank;
  const auto on_world = [&] {
    NCCL(ncclSend(given.data(), 1000, ncclFloat64, peer, world, streams[0]));
    NCCL(ncclRecv(taken.data(), 1000, ncclFloat64, peer, world, streams[1]));
  };
  const auto on_other = [&] {
    NCCL(ncclSend(given.data(), 1000, ncclFloat64, 1 - rank, other, streams[2]));
    NCCL(ncclRecv(also.data(), 1000, ncclFloat64, 1 - rank, other, streams[2]));
  };
  for (int round = 0; round < 3; ++round) {
    NCCL(ncclGroupStart());
    if (self.rank == 0) {
      on_world();
      on_other();
    } else {
      on_other();
      on_world();
    }
    NCCL(ncclGroupEnd());
  }
  for (const CUstream stream : streams) CUDA(cuStreamSynchronize(stream));
  CHECK_EQ(taken[999], peer);
  CHECK_EQ(also[999], peer);
  NCCL(ncclCommDestroy(other));
  NCCL(ncclCommDestroy(world));
}

TEST(Transfers, TwoCommunicatorsInOneGroup) {
  EXPECT_TRUE(ranks::run("two_communicators", {.count = 2}).finished);
}

// A small send is over before its receiver is there; a large one is not.
SCENARIO(early_sends) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<char> small(1000, 's'), large(3 << 20, 'l');
  if (self.rank == 0) {
    // The connection is made with the first message.
    NCCL(ncclSend(small.data(), 1000, ncclInt8, 1, communicator, stream));
    NCCL(ncclSend(small.data(), 1000, ncclInt8, 1, communicator, stream));
    CUDA(cuStreamSynchronize(stream));
    NCCL(ncclSend(large.data(), large.size(), ncclInt8, 1, communicator, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    self.tell(0);
    CUDA(cuStreamSynchronize(stream));
  } else {
    Buffer<char> got_small(1000), got_large(3 << 20);
    NCCL(ncclRecv(got_small.data(), 1000, ncclInt8, 0, communicator, stream));
    self.wait_for(0, 1);
    NCCL(ncclRecv(got_small.data(), 1000, ncclInt8, 0, communicator, stream));
    NCCL(ncclRecv(got_large.data(), got_large.size(), ncclInt8, 0, communicator, stream));
    CUDA(cuStreamSynchronize(stream));
    CHECK_EQ(got_small[999], 's');
    CHECK_EQ(got_large[(3 << 20) - 1], 'l');
  }
  NCCL(ncclCommDestroy(communicator));
}

TEST(Transfers, SmallSendsAreEarlyAndLargeOnesWait) {
  EXPECT_TRUE(ranks::run("early_sends", {.count = 2}).finished);
}

// An engine thread that wakes late, on a busy machine, makes an end later than it should be, never earlier. So the
// shortest of several is exact.
static constexpr int rounds = 10;

SCENARIO(back_and_forth) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<char> data(100'000, 'x');
  const auto send = [&] { NCCL(ncclSend(data.data(), data.size(), ncclInt8, 1 - self.rank, communicator, stream)); };
  const auto receive = [&] { NCCL(ncclRecv(data.data(), data.size(), ncclInt8, 1 - self.rank, communicator, stream)); };
  for (int round = 0; round < rounds; ++round) {
    if (self.rank == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    CUDA(cuStreamSynchronize(stream));
  }
  NCCL(ncclCommDestroy(communicator));
}

SCENARIO(blocked_receive) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  Buffer<char> data(100'000, 'x');
  for (int round = 0; round < rounds; ++round) {
    if (self.rank == 0) {
      // The first round makes the connection, for which the two have to meet.
      if (round > 0) self.wait_for(0, round);
      if (round > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      NCCL(ncclSend(data.data(), data.size(), ncclInt8, 1, communicator, stream));
    } else {
      NCCL(ncclRecv(data.data(), data.size(), ncclInt8, 0, communicator, stream));
      self.tell(0, round);
    }
    CUDA(cuStreamSynchronize(stream));
  }
  NCCL(ncclCommDestroy(communicator));
}

namespace {

std::vector<nlohmann::json> kernels(const std::string& log) {
  std::vector<nlohmann::json> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_discarded() && record.value("type", "") == "kernel") found.push_back(record);
  }
  return found;
}

int64_t time(const nlohmann::json& kernel, const char* which) {
  return kernel[which].get<int64_t>();
}

}  // namespace

TEST(Transfers, ABlockedReceiveHoldsMultiprocessorsUntilTheDataIsThere) {
  const ranks::Outcome outcome = ranks::run("blocked_receive", {.count = 2, .log = true});
  ASSERT_TRUE(outcome.finished);
  const auto sends = kernels(outcome.logs[0]), receives = kernels(outcome.logs[1]);
  ASSERT_EQ(sends.size(), size_t{rounds});
  ASSERT_EQ(receives.size(), size_t{rounds});
  // 10 us and 100,000 bytes at 1e9 bytes per second.
  const int64_t exact = 110'000;
  int64_t sending = std::numeric_limits<int64_t>::max(), arriving = sending;
  for (size_t i = 1; i < sends.size(); ++i) {
    EXPECT_EQ(receives[i]["name"], "ncclDevKernel_SendRecv");
    EXPECT_EQ(receives[i]["spin"], true);
    EXPECT_EQ(receives[i]["blocks"], 2);
    EXPECT_EQ(receives[i]["sms"], 2);
    const int64_t started = time(sends[i], "start");
    EXPECT_GT(started - time(receives[i], "start"), 9'000'000);
    sending = std::min(sending, time(sends[i], "end") - started);
    arriving = std::min(arriving, time(receives[i], "end") - started);
  }
  EXPECT_EQ(sending, exact);
  EXPECT_EQ(arriving, exact);
}

// Each replay of a captured group sends and receives anew, also mixed with groups that are not captured.
SCENARIO(captured) {
  const ncclComm_t communicator = self.communicator();
  const CUstream stream = ranks::stream();
  const int peer = 1 - self.rank;
  Buffer<int> given(1000), taken(1000);
  const auto group = [&] {
    NCCL(ncclGroupStart());
    NCCL(ncclSend(given.data(), 1000, ncclInt32, peer, communicator, stream));
    NCCL(ncclRecv(taken.data(), 1000, ncclInt32, peer, communicator, stream));
    NCCL(ncclGroupEnd());
  };
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  // The first use of the peer is within the capture: making the connection must not break it.
  CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  group();
  CUDA(cuStreamEndCapture(stream, &graph));
  CUDA(cuGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 6; ++round) {
    std::fill(given.begin(), given.end(), self.rank * 100 + round);
    if (round % 3 == 2) {
      group();
    } else {
      CUDA(cuGraphLaunch(executable, stream));
    }
    CUDA(cuStreamSynchronize(stream));
    CHECK_EQ(taken[999], peer * 100 + round);
  }
  CUDA(cuGraphExecDestroy(executable));
  CUDA(cuGraphDestroy(graph));
  NCCL(ncclCommDestroy(communicator));
}

TEST(Transfers, CapturedGroupIsReplayed) {
  EXPECT_TRUE(ranks::run("captured", {.count = 2}).finished);
}

TEST(Transfers, LinksAreAsFastAsTheEnvironmentSays) {
  const ranks::Outcome outcome = ranks::run("back_and_forth", {.count = 2,
                                                               .environment = {{"SIMGPU_NCCL_LATENCY", "20us"},
                                                                               {"SIMGPU_NCCL_BANDWIDTH", "5e8"},
                                                                               {"SIMGPU_TIME_SCALE", "2"},
                                                                               {"SIMGPU_FAULTS", "link=0>1:3"},
                                                                               {"NCCL_MAX_CTAS", "1"}},
                                                               .log = true});
  ASSERT_TRUE(outcome.finished);
  const auto first = kernels(outcome.logs[0]), second = kernels(outcome.logs[1]);
  ASSERT_EQ(first.size(), size_t{2 * rounds});
  ASSERT_EQ(second.size(), size_t{2 * rounds});
  // Rank 0 sends first and receives second, rank 1 the other way round.
  const auto shortest = [](const std::vector<nlohmann::json>& all, size_t begin) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t i = begin; i < all.size(); i += 2) least = std::min(least, time(all[i], "end") - time(all[i], "start"));
    return least;
  };
  EXPECT_EQ(shortest(first, 0), 2 * 3 * (20'000 + 200'000));
  EXPECT_EQ(shortest(second, 1), 2 * (20'000 + 200'000));
  EXPECT_EQ(first[0]["blocks"], 1);
}
