// Launches are counted, so that a mark with nothing launched before it can say so.
#include <algorithm>
#include <thread>
#include <vector>

#include "tests/shim/shim_fixture.h"

namespace {

class Launches : public LaunchingJob {
 protected:
  bool nothing_launched_before_wait() {
    events();  // a launch was noted
    receive();
    cuStreamWaitEvent(compute, arrived, 0);
    const auto seen = events();
    EXPECT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
    return !seen.empty() && seen[0].nothing_launched;
  }
};

TEST_F(Launches, BeforeTheFirstMarkNobodyKnows) {
  EXPECT_FALSE(nothing_launched_before_wait());
  EXPECT_TRUE(nothing_launched_before_wait());
}

TEST_F(Launches, EveryWayToLaunchCounts) {
  nothing_launched_before_wait();
  launch(compute);
  EXPECT_FALSE(nothing_launched_before_wait());
  cuGraphLaunch(nullptr, compute);
  EXPECT_FALSE(nothing_launched_before_wait());
  CUlaunchConfig config{};
  config.hStream = compute;
  cuLaunchKernelEx(&config, nullptr, nullptr, nullptr);
  EXPECT_FALSE(nothing_launched_before_wait());
  EXPECT_TRUE(nothing_launched_before_wait());
}

// As TransformerEngine's do: what waits for such an event waits for what the kernel stands behind.
TEST_F(Launches, RecordTheEventsOfTheirAttributes) {
  for (const CUlaunchAttributeID id :
       {CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}) {
    fake_block(transfer);
    receive();
    CUlaunchAttribute attributes[2]{};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attributes[1].id = id;
    const CUevent begun = event();
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
      attributes[1].value.programmaticEvent.event = begun;
    else
      attributes[1].value.launchCompletionEvent.event = begun;
    CUlaunchConfig config{};
    config.hStream = transfer;
    config.attrs = attributes;
    config.numAttrs = 2;
    EXPECT_EQ(cuLaunchKernelEx(&config, nullptr, nullptr, nullptr), CUDA_SUCCESS);
    const CUstream other = stream();
    events();
    cuStreamWaitEvent(other, begun, 0);
    const auto seen = events();
    ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued}) << id;
    EXPECT_EQ(seen[0].awaited.ticket, last_ticket) << id;
    fake_release(transfer);
  }
}

TEST_F(Launches, OnOtherStreamsDoNotCount) {
  nothing_launched_before_wait();
  launch(transfer);
  launch(nullptr);
  launch(stream());
  EXPECT_TRUE(nothing_launched_before_wait());
  launch(transfer);
  launch(compute);
  launch(transfer);
  EXPECT_FALSE(nothing_launched_before_wait());
}

TEST_F(Launches, OfWeftDoNotCount) {
  nothing_launched_before_wait();
  std::thread([&] {
    core()->shim->mark_own_thread();
    launch(compute);
  }).join();
  EXPECT_TRUE(nothing_launched_before_wait());
}

TEST_F(Launches, TheFirstBehindAWaitIsNoted) {
  receive();
  launch(transfer);
  events();
  cuStreamWaitEvent(compute, arrived, 0);
  const weft::Event wait = events().at(0);
  launch(transfer);
  EXPECT_TRUE(events().empty());
  launch(compute);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::launch_noted});
  EXPECT_EQ(seen[0].stream, wait.stream);
  EXPECT_EQ(seen[0].ticket, wait.done_ticket);
  launch(compute);
  launch(transfer);
  EXPECT_TRUE(events().empty());
}

// It may hold up the hardware queue while the group runs.
TEST_F(Launches, TheFirstBehindAGroupIsNoted) {
  ncclRecv(buffer, 1, ncclInt8, 0, c, compute);
  const weft::Event group = events().back();
  launch(transfer);
  EXPECT_TRUE(events().empty());
  launch(compute);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::launch_noted});
  EXPECT_EQ(seen[0].stream, group.stream);
  EXPECT_EQ(seen[0].ticket, group.done_ticket);
  launch(compute);
  EXPECT_TRUE(events().empty());
}

// Threads come and go: each has a number, and numbers of launches never come again.
TEST_F(Launches, OfManyThreadsAreToldApart) {
  std::thread([this] { launch(compute); }).join();
  nothing_launched_before_wait();
  for (int thread = 0; thread < 255; ++thread) std::thread([this] { launch(transfer); }).join();
  EXPECT_TRUE(nothing_launched_before_wait());
  std::thread([this] { launch(compute); }).join();
  EXPECT_FALSE(nothing_launched_before_wait());
}

// A stream may come back at the address of one that is gone.
TEST_F(Launches, AreThoseOfTheStreamNotOfItsAddress) {
  nothing_launched_before_wait();
  launch(compute);
  cuStreamDestroy_v2(compute);
  compute = stream();
  launch(compute);
  events();
  EXPECT_FALSE(nothing_launched_before_wait());
  EXPECT_TRUE(nothing_launched_before_wait());
}

TEST_F(Launches, WithoutCountsAnythingMayHaveBeenLaunched) {
  core()->shim->set_launches_counted(false);
  nothing_launched_before_wait();
  EXPECT_FALSE(nothing_launched_before_wait());
}

// PyTorch makes 128 streams at once: one that was only launched on is in use, and is asked.
TEST_F(Launches, MakeAStreamOfAPoolOneInUse) {
  std::vector<CUstream> pool;
  for (int i = 0; i < 100; ++i) pool.push_back(stream());
  receive();
  const int before = streams_to_ask();
  launch(pool[7]);
  EXPECT_EQ(streams_to_ask(), before + 1);
  cuStreamDestroy_v2(pool[7]);
  EXPECT_EQ(streams_to_ask(), before);
  if (stream() != pool[7]) GTEST_SKIP() << "no stream came back with the handle of one that has gone";
  launch(pool[7]);
  EXPECT_EQ(streams_to_ask(), before + 1);
}

// Each has its own count.
TEST_F(Launches, OnStreamsInTurnAreThoseOfEachStream) {
  const CUstream second = stream(), third = stream();
  const std::vector<CUstream> in_turn{compute, second, compute, second,  third,
                                      compute, second, third,   nullptr, compute};
  const std::vector<CUstream> all{compute, second, third, nullptr};
  const auto nothing_on = [this](CUstream each) {
    receive();
    cuStreamWaitEvent(each, arrived, 0);
    return static_cast<bool>(events().at(0).nothing_launched);
  };
  for (const CUstream each : in_turn) launch(each);
  events();
  for (const CUstream each : all) EXPECT_FALSE(nothing_on(each));
  for (const CUstream launched_on : in_turn) {
    launch(launched_on);
    events();
    for (const CUstream each : all) EXPECT_EQ(nothing_on(each), each != launched_on);
  }
}

// The marker behind a kernel is not reached while the kernel runs: the stream has something to compute.
TEST_F(Launches, AheadOfAMarkerThatIsNotReachedAreNotOver) {
  nothing_launched_before_wait();
  fake_release(transfer);
  fake_block(compute);  // the kernel
  launch(compute);
  ncclRecv(buffer, 1, ncclInt8, 0, c, compute);
  const weft::StreamId stream = events().back().stream;
  EXPECT_EQ(ask(stream), StreamAnswer::busy);
  fake_release(compute);
  fake_release(compute);
  EXPECT_EQ(ask(stream), StreamAnswer::dry);
}

// Copies are no compute.
TEST_F(Launches, AStreamIsStillFromItsMakingUntilItIsLaunchedOn) {
  const CUstream copies = stream();
  weft::StreamId ids[512];
  const int count = core()->shim->list_streams_to_ask(0, ids, 512);
  const weft::StreamId latest = *std::max_element(ids, ids + count);
  fake_block(copies);
  EXPECT_EQ(ask(latest), StreamAnswer::dry);
  launch(copies);
  EXPECT_EQ(ask(latest), StreamAnswer::busy);
  fake_release(copies);
}

// So the detector can tell what was launched behind a stream that waits.
// It would stand in the stream's hardware queue until whatever the stream has to wait for.
TEST_F(Launches, AStreamThatHasNothingLeftGetsNoMarkerAtItsEnd) {
  for (const bool computes : {false, true}) {
    const CUstream third = stream();
    launch(third);
    if (computes) fake_block(third);
    events();
    cuStreamDestroy_v2(third);
    const auto seen = events();
    ASSERT_EQ(kinds(seen), Kinds{EventKind::stream_destroyed});
    EXPECT_EQ(seen[0].ticket != 0, computes);
  }
}

TEST_F(Launches, AnswersSayBeforeWhichMarkerAllWasLaunched) {
  const auto launched_before = [&](const weft::Event& of) {
    return core()->shim->ask_stream(0, of.stream).launched_before;
  };
  const weft::Event first = receive();
  launch(transfer);
  events();
  EXPECT_EQ(launched_before(first), first.done_ticket + 1);
  const weft::Event second = receive();
  EXPECT_EQ(launched_before(first), first.done_ticket + 1) << "a marker is no launch";
  cuEventRecord(arrived, compute);
  cuStreamWaitEvent(transfer, arrived, 0);
  EXPECT_EQ(launched_before(first), second.done_ticket + 1) << "a wait without a marker";
  core()->shim->set_launches_counted(false);
  EXPECT_EQ(launched_before(first), 0U);
}

// Next to a blocking stream in a receive the legacy stream would answer for that one.
TEST_F(Launches, TheLegacyStreamIsStillUntilItIsLaunchedOn) {
  weft::StreamId ids[512];
  const int count = core()->shim->list_streams_to_ask(0, ids, 512);
  ASSERT_GT(count, 0);
  const weft::StreamId legacy = ids[count - 1];
  fake_block(nullptr);
  EXPECT_EQ(ask(legacy), StreamAnswer::dry);
  launch(nullptr);
  EXPECT_EQ(ask(legacy), StreamAnswer::busy);
  fake_release(nullptr);
}

}  // namespace
