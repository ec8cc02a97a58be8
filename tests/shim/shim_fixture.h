// Shared by the behaviour tests: a main job with a communicator, streams and events, under the preloaded shim with the
// test core (core_fixture.h).
#pragma once

#include <vector>

#include "tests/shim/core_fixture.h"
#include "tests/shim/fake/fake_cuda.h"
#include "tests/shim/fake/fake_nccl.h"

class ShimTest : public CoreTest {
 protected:
  ncclComm_t communicator(int ranks = 4, int rank = 1) {
    ncclComm_t made = nullptr;
    EXPECT_EQ(ncclCommInitRank(&made, ranks, ncclUniqueId{}, rank), ncclSuccess);
    return made;
  }
  // Not ready yet: until fake_nccl_proceed().
  static ncclComm_t non_blocking() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t made = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&made, 2, ncclUniqueId{}, 0, &config), ncclInProgress);
    return made;
  }
  static ncclComm_t open_non_blocking() {
    const ncclComm_t made = non_blocking();
    fake_nccl_proceed(made);
    ncclResult_t progress = ncclInProgress;
    ncclCommGetAsyncError(made, &progress);
    events();
    return made;
  }
  CUstream stream() {
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return made;
  }
  CUevent event() {
    CUevent made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return made;
  }

  static std::vector<weft::EventKind> kinds(const std::vector<weft::Event>& list) {
    std::vector<weft::EventKind> found;
    for (const weft::Event& next : list) found.push_back(next.kind);
    return found;
  }
  // How many streams of the device may be asked, the legacy stream among them; -1: too many.
  static int streams_to_ask() {
    weft::StreamId ids[512];
    return core()->shim->list_streams_to_ask(0, ids, 512);
  }
  static weft::StreamAnswer ask(weft::StreamId stream, int device = 0) {
    return core()->shim->ask_stream(device, stream).says;
  }
  static bool reached(weft::Ticket ticket, int device = 0) {
    return core()->words[device][ticket % core()->word_count].load() == ticket;
  }
  char buffer[64]{};
};

// A main job that receives on a stream of its own, as PyTorch does it.
class ReceivingJob : public ShimTest {
 protected:
  void SetUp() override {
    c = communicator();
    transfer = stream();
    compute = stream();
    arrived = event();
    events();
  }
  // A receive, and an event behind it.
  weft::Event receive() {
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
    cuEventRecord(arrived, transfer);
    const auto seen = events();
    EXPECT_EQ(seen.size(), 1u);
    last_ticket = seen.at(0).done_ticket;
    return seen.at(0);
  }
  weft::Ticket last_ticket = 0;
  ncclComm_t c = nullptr;
  CUstream transfer = nullptr;
  CUstream compute = nullptr;
  CUevent arrived = nullptr;
};

// One whose launches are counted.
class LaunchingJob : public ReceivingJob {
 protected:
  void SetUp() override {
    ReceivingJob::SetUp();
    core()->shim->set_launches_counted(true);
  }
  static void launch(CUstream stream) {
    EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), CUDA_SUCCESS);
  }
};

using Kinds = std::vector<weft::EventKind>;
using weft::EventKind;
using weft::StreamAnswer;
using weft::StreamOrder;
