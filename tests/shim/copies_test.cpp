// Copies between host and device, and host functions: where they have markers, and what waits for them.
#include "shim/main_job/copies.h"

#include <utility>

#include "tests/shim/shim_fixture.h"

namespace {

class Copies : public LaunchingJob {
 protected:
  void SetUp() override {
    LaunchingJob::SetUp();
    // Made when launches are counted, so from the beginning it is known that they have none.
    offload = stream();
    compute = stream();
    copied = event();
    events();
  }
  // They last until the stream is released.
  static void copy(CUstream stream, std::size_t bytes = 1 << 20) {
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(0, nullptr, bytes, stream), CUDA_SUCCESS);
    fake_block(stream);
  }
  static void compute_on(CUstream stream) {
    launch(stream);
    fake_block(stream);
  }
  static weft::Event only_mark() {
    const auto seen = events();
    EXPECT_EQ(kinds(seen), Kinds{EventKind::mark_issued});
    return seen.empty() ? weft::Event{} : seen[0];
  }
  CUstream offload = nullptr;
  CUevent copied = nullptr;
};

TEST_F(Copies, OfAStreamThatDoesNothingElseHaveNoMarkers) {
  for (int i = 0; i < 3; ++i) copy(offload);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(offload), 3u);
}

TEST_F(Copies, TheEndOfWhatWasLaunchedBeforeIsMarked) {
  compute_on(offload);
  copy(offload);
  const weft::Event mark = only_mark();
  EXPECT_FALSE(mark.nothing_launched);
  EXPECT_FALSE(reached(mark.ticket));
  EXPECT_EQ(ask(mark.stream), StreamAnswer::busy);
  fake_release(offload);
  EXPECT_TRUE(reached(mark.ticket));
  EXPECT_EQ(ask(mark.stream), StreamAnswer::dry) << "it copies";
  copy(offload);
  EXPECT_TRUE(events().empty()) << "there is one already";
}

TEST_F(Copies, TheFirstLaunchBehindOneMarksItsEnd) {
  copy(compute);
  launch(compute);
  const weft::Event mark = only_mark();
  EXPECT_TRUE(mark.nothing_launched);
  EXPECT_FALSE(reached(mark.ticket));
  launch(compute);
  EXPECT_TRUE(events().empty());
  fake_release(compute);
  EXPECT_TRUE(reached(mark.ticket));
}

TEST_F(Copies, BothEndsAreMarkedBetweenLaunches) {
  launch(compute);
  copy(compute);
  launch(transfer);
  launch(compute);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::mark_issued, EventKind::mark_issued}));
  EXPECT_FALSE(seen[0].nothing_launched);
  EXPECT_TRUE(seen[1].nothing_launched);
}

TEST_F(Copies, ThatAreShortHaveNoMarkers) {
  launch(compute);
  copy(compute, weft::least_noted_copy - 1);
  launch(compute);
  EXPECT_TRUE(events().empty());
  copy(compute, weft::least_noted_copy);
  only_mark();
}

TEST_F(Copies, AHostFunctionIsOne) {
  launch(compute);
  EXPECT_EQ(cuLaunchHostFunc(compute, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_FALSE(only_mark().nothing_launched);
  launch(compute);
  EXPECT_TRUE(only_mark().nothing_launched);
}

TEST_F(Copies, WhatWaitsForOneStandsAndIsMarkedAtItsNextLaunch) {
  launch(compute);
  copy(offload);
  cuEventRecord(copied, offload);
  EXPECT_TRUE(events().empty());
  cuStreamWaitEvent(compute, copied, 0);
  EXPECT_FALSE(only_mark().nothing_launched) << "the end of what it had";
  launch(compute);
  const weft::Event mark = only_mark();
  EXPECT_TRUE(mark.nothing_launched);
  EXPECT_FALSE(reached(mark.ticket));
  fake_release(offload);
  EXPECT_TRUE(reached(mark.ticket));
}

// Through a stream that only copies.
TEST_F(Copies, WhatWaitsForWhatWaitsForOneStands) {
  copy(offload);
  cuEventRecord(copied, offload);
  const CUstream second = stream();
  cuStreamWaitEvent(second, copied, 0);
  const CUevent both = event();
  cuEventRecord(both, second);
  EXPECT_EQ(fake_enqueued(second), 2u) << "no marker: it would hold up other streams of its hardware queue";
  cuStreamWaitEvent(compute, both, 0);
  launch(compute);
  const weft::Event mark = only_mark();
  fake_release(offload);
  EXPECT_TRUE(reached(mark.ticket));
}

// The two together may hold up their hardware queue, as a wait and a launch.
TEST_F(Copies, ACopyBehindAWaitForOneMarksTheEndOfTheWait) {
  copy(offload);
  cuEventRecord(copied, offload);
  cuStreamWaitEvent(compute, copied, 0);
  EXPECT_TRUE(events().empty());
  copy(compute);
  const weft::Event mark = only_mark();
  EXPECT_TRUE(mark.nothing_launched);
  EXPECT_FALSE(reached(mark.ticket));
  fake_release(offload);
  EXPECT_TRUE(reached(mark.ticket));
  copy(compute);
  EXPECT_TRUE(events().empty());
}

// The driver finds out what they are.
TEST_F(Copies, WithinTheDeviceAreLaunches) {
  constexpr CUdeviceptr host = 1, device = 1 << 20;
  constexpr std::size_t bytes = 1 << 20;
  launch(compute);
  EXPECT_EQ(cuMemcpyAsync(device, host, bytes, compute), CUDA_SUCCESS);
  EXPECT_FALSE(only_mark().nothing_launched);
  EXPECT_EQ(cuMemcpyAsync(device, device, bytes, compute), CUDA_SUCCESS);
  EXPECT_TRUE(only_mark().nothing_launched) << "it stands behind the copy";
  EXPECT_EQ(cuMemcpyAsync(host, device, bytes, compute), CUDA_SUCCESS);
  EXPECT_FALSE(only_mark().nothing_launched) << "the copy within the device is over";
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.dstDevice = device;
  rows.WidthInBytes = rows.Height = 1024;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&rows, compute), CUDA_SUCCESS);
  EXPECT_TRUE(only_mark().nothing_launched);
  rows.dstDevice = host;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&rows, compute), CUDA_SUCCESS);
  EXPECT_FALSE(only_mark().nothing_launched);
}

// Some programs have many that do next to nothing.
TEST_F(Copies, FewHostFunctionsAreMarked) {
  fake_block(compute);
  for (int i = 0; i < 100; ++i) {
    launch(compute);
    EXPECT_EQ(cuLaunchHostFunc(compute, nullptr, nullptr), CUDA_SUCCESS);
  }
  const auto seen = events();
  EXPECT_LE(seen.size(), 17u);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& e) { return e.kind == EventKind::mark_issued; }));
}

TEST_F(Copies, AGroupBehindOneMarksItsEnd) {
  transfer = stream();
  copy(transfer);
  receive();
  launch(transfer);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::launch_noted});  // the first behind the group, and no marker
}

TEST_F(Copies, AreNotedOnlyWhereLaunchesAreCounted) {
  core()->shim->set_launches_counted(false);
  launch(compute);
  copy(compute);
  launch(compute);
  EXPECT_TRUE(events().empty());
}

TEST_F(Copies, InACaptureHaveNoMarkers) {
  launch(compute);
  ASSERT_EQ(cuStreamBeginCapture_v2(compute, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(0, nullptr, 1 << 20, compute), CUDA_SUCCESS);
  launch(compute);
  ASSERT_EQ(cuStreamEndCapture(compute, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(kinds(events()), (Kinds{EventKind::capture_begun, EventKind::capture_ended}));
}

// They take no room that a group could need. It is said where it is no longer known what the stream does.
TEST_F(Copies, OfAStreamThatIsFarAheadHaveNoMarkers) {
  fake_block(compute);
  const auto copy_on_and_on = [&] {
    for (int i = 0; i < 300; ++i) {
      launch(compute);
      EXPECT_EQ(cuMemcpyDtoHAsync_v2(nullptr, 0, 1 << 20, compute), CUDA_SUCCESS);
    }
    return events();
  };
  auto seen = copy_on_and_on();
  EXPECT_EQ(seen.size(), 65u);
  EXPECT_EQ(seen.back().kind, EventKind::copy_held_back);
  seen.pop_back();
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& e) { return e.kind == EventKind::mark_issued; }));
  EXPECT_TRUE(copy_on_and_on().empty());
  fake_release(compute);
  launch(compute);
  EXPECT_FALSE(only_mark().nothing_launched) << "known again";
  launch(compute);
  EXPECT_TRUE(events().empty());
}

TEST_F(Copies, OneThatIsOverHoldsNobodyUp) {
  launch(compute);
  copy(offload);
  cuEventRecord(copied, offload);
  fake_release(offload);
  cuStreamWaitEvent(compute, copied, 0);
  launch(compute);
  EXPECT_TRUE(events().empty());
}

// As a pool of pinned memory has them.
TEST_F(Copies, EventsBehindThemPushOutNoneThatStandsForAGroup) {
  transfer = stream();
  receive();
  copy(transfer);
  const CUevent both = event();
  cuEventRecord(both, transfer);
  copy(offload);
  for (int i = 0; i < 40'000; ++i) cuEventRecord(event(), offload);
  cuStreamWaitEvent(compute, both, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_NE(seen[0].awaited.stream, 0u);
  EXPECT_TRUE(seen[0].awaited.copies);
}

// Sets and copies under other names, which take the device as launches do.
class DeviceCopies : public LaunchingJob {
 protected:
  void SetUp() override {
    LaunchingJob::SetUp();
    launch(compute);
    launch(nullptr);
    launched();
  }
  // Launches were counted since the last question.
  bool launched() {
    std::uint32_t now = 0;
    EXPECT_TRUE(core()->shim->launches_on(0, &now));
    return std::exchange(last_, now) != now;
  }
  static constexpr CUdeviceptr on_device = 1 << 20, on_host = 0;

 private:
  std::uint32_t last_ = 0;
};

TEST_F(DeviceCopies, BetweenDevicesAreLaunches) {
  EXPECT_FALSE(launched());
  EXPECT_EQ(cuMemcpyPeerAsync(on_device, nullptr, on_device, nullptr, 8, compute), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
  CUDA_MEMCPY3D_PEER peer{};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  EXPECT_EQ(cuMemcpy3DPeerAsync(&peer, compute), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
  peer.srcMemoryType = CU_MEMORYTYPE_HOST;
  EXPECT_EQ(cuMemcpy3DPeerAsync(&peer, compute), CUDA_SUCCESS);
  EXPECT_FALSE(launched()) << "it is one of the host's";
}

TEST_F(DeviceCopies, InBatchesAreLaunchesUnlessAllAreOfTheHost) {
  CUdeviceptr to[65]{}, from[65]{};
  std::size_t bytes[65]{};
  for (CUdeviceptr& address : from) address = on_device;
  bytes[0] = 1 << 20;
  events();
  const auto batch = [&](std::size_t count) {
    EXPECT_EQ(cuMemcpyBatchAsync_v2(to, from, bytes, count, nullptr, nullptr, 0, compute), CUDA_SUCCESS);
    return launched();
  };
  EXPECT_FALSE(batch(2));
  EXPECT_EQ(kinds(events()), Kinds{EventKind::mark_issued}) << "a copy behind a kernel";
  to[1] = on_device;
  EXPECT_TRUE(batch(2));
  to[1] = on_host;
  EXPECT_TRUE(batch(65)) << "too many to be asked for";
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(1, nullptr, 0, compute), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
}

TEST_F(DeviceCopies, WithoutAsyncAreLaunchesOnTheDefaultStream) {
  EXPECT_EQ(cuMemsetD8_v2(on_device, 1, 8), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
  EXPECT_EQ(cuMemcpyDtoD_v2(on_device, on_device, 8), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
  EXPECT_EQ(cuMemcpy(on_device, on_device, 8), CUDA_SUCCESS);
  EXPECT_TRUE(launched());
  EXPECT_EQ(cuMemcpy(on_device, on_host, 8), CUDA_SUCCESS);
  EXPECT_FALSE(launched());
  EXPECT_EQ(cuMemsetD8_v2_ptds(on_device, 1, 8), CUDA_SUCCESS);
  std::uint32_t now = 0;
  EXPECT_FALSE(core()->shim->launches_on(0, &now)) << "on the thread's own stream, which nobody can ask";
}

}  // namespace
