// Default streams: a thread's own and that of another context cannot be asked, and the legacy stream and blocking ones
// wait for each other. Nothing launched on them may pass for idle time, and nothing that is held up for compute.
#include <algorithm>
#include <functional>
#include <semaphore>
#include <thread>
#include <utility>

#include "tests/shim/shim_fixture.h"

namespace {

class DefaultStreams : public LaunchingJob {
 protected:
  static bool all_can_be_asked() { return streams_to_ask() >= 0; }
  CUstream blocking_stream() {
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    return made;
  }
  static weft::StreamId legacy() {
    weft::StreamId ids[512];
    const int count = core()->shim->list_streams_to_ask(0, ids, 512);
    return count > 0 ? ids[count - 1] : 0;
  }
};

TEST_F(DefaultStreams, AThreadsOwnIsNotKnownToBeDryUntilTheHostHasWaitedForIt) {
  EXPECT_TRUE(all_can_be_asked());
  launch(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(all_can_be_asked());
  cuStreamSynchronize(CU_STREAM_PER_THREAD);
  EXPECT_TRUE(all_can_be_asked());
  launch(CU_STREAM_PER_THREAD);
  launch(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(all_can_be_asked());
  cuCtxSynchronize();
  EXPECT_TRUE(all_can_be_asked());
  launch(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(all_can_be_asked());
}

// The wait of the host names it, and nothing else does.
TEST_F(DefaultStreams, AThreadsOwnThatWasWaitedForBesideAReceiveIsNotFollowed) {
  receive();
  launch(CU_STREAM_PER_THREAD);
  cuStreamSynchronize(CU_STREAM_PER_THREAD);
  EXPECT_TRUE(all_can_be_asked());
  launch(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(all_can_be_asked());
}

TEST_F(DefaultStreams, ThoseOfThreadsThatHaveEndedAreWaitedForWithTheDevice) {
  for (int i = 0; i < 3; ++i) std::thread([] { launch(CU_STREAM_PER_THREAD); }).join();
  launch(CU_STREAM_PER_THREAD);
  cuStreamSynchronize(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(all_can_be_asked());
  cuCtxSynchronize();
  EXPECT_TRUE(all_can_be_asked());
  std::thread([] {
    launch(CU_STREAM_PER_THREAD);
    cuStreamSynchronize(CU_STREAM_PER_THREAD);
  }).join();
  EXPECT_TRUE(all_can_be_asked());
}

// Its markers say what it has passed.
TEST_F(DefaultStreams, AThreadsOwnThatHasMarkersIsAskedByThose) {
  launch(CU_STREAM_PER_THREAD);
  receive();
  cuStreamWaitEvent(CU_STREAM_PER_THREAD, arrived, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_TRUE(all_can_be_asked());
  launch(CU_STREAM_PER_THREAD);
  EXPECT_TRUE(all_can_be_asked());
  fake_release(transfer);
  EXPECT_EQ(ask(seen[0].stream), StreamAnswer::unknown);
  cuStreamSynchronize(CU_STREAM_PER_THREAD);
  EXPECT_EQ(ask(seen[0].stream), StreamAnswer::dry);
}

TEST_F(DefaultStreams, ThatOfAnotherContextIsNobodysToAsk) {
  CUcontext other = nullptr;
  cuCtxCreate_v2(&other, 0, 0);
  launch(nullptr);
  EXPECT_TRUE(all_can_be_asked());
  fake_set_context(2);
  launch(nullptr);
  fake_set_context(0);
  EXPECT_FALSE(all_can_be_asked());
  cuCtxSynchronize();
  EXPECT_FALSE(all_can_be_asked()) << "it is not of this context";
}

// Then one name stands for one default stream again.
TEST_F(DefaultStreams, AContextThatIsGoneHasNone) {
  const auto waits_prove_that_all_is_over = [this] {
    std::thread([] { launch(CU_STREAM_PER_THREAD); }).join();
    EXPECT_FALSE(all_can_be_asked());
    cuCtxSynchronize();
    return all_can_be_asked();
  };
  EXPECT_TRUE(waits_prove_that_all_is_over());
  CUcontext other = nullptr;
  cuCtxCreate_v2(&other, 0, 0);
  EXPECT_FALSE(waits_prove_that_all_is_over()) << "it may wait for the other one";
  cuCtxDestroy_v2(other);
  EXPECT_TRUE(waits_prove_that_all_is_over());
}

// NCCL takes that of the communicator's device, whichever is current.
TEST_F(DefaultStreams, AGroupOnAThreadsOwnIsOnTheDeviceOfItsCommunicator) {
  fake_set_device(1);
  const ncclComm_t second = communicator();
  fake_set_device(0);
  events();
  ncclRecv(buffer, 1, ncclInt8, 0, second, CU_STREAM_PER_THREAD);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].device, 1);
  EXPECT_TRUE(reached(seen[0].ticket, 1));
  EXPECT_FALSE(reached(seen[0].done_ticket, 1));
}

// The detector finds out which holds up which.
TEST_F(DefaultStreams, MarksAndAnswersSayWhichStreamsCudaOrders) {
  const CUstream blocking = blocking_stream();
  const std::pair<CUstream, StreamOrder> streams[] = {{nullptr, StreamOrder::legacy},
                                                      {CU_STREAM_PER_THREAD, StreamOrder::blocking},
                                                      {blocking, StreamOrder::blocking},
                                                      {compute, StreamOrder::none}};
  for (const auto& [stream, order] : streams) {
    receive();
    events();
    ncclRecv(buffer, 1, ncclInt8, 0, c, stream);
    cuStreamWaitEvent(stream, arrived, 0);
    const auto seen = events();
    ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::wait_issued}));
    EXPECT_EQ(seen[0].order, order);
    EXPECT_EQ(seen[1].order, order);
    launch(stream);
    const weft::Answer answer = core()->shim->ask_stream(0, seen[0].stream);
    const bool cannot_be_asked = stream == CU_STREAM_PER_THREAD;
    EXPECT_EQ(answer.says, cannot_be_asked ? StreamAnswer::unknown : StreamAnswer::busy);
    EXPECT_EQ(answer.order, cannot_be_asked ? StreamOrder::none : order);
    fake_release(transfer);
    events();
  }
  fake_release(nullptr);
  cuStreamDestroy_v2(blocking);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::stream_destroyed});
  EXPECT_EQ(seen[0].order, StreamOrder::blocking);
}

// A marker there would wait for the legacy stream, and hold its hardware queue: what ends the receive may stand behind.
TEST_F(DefaultStreams, TheEndOfABlockingStreamIsNotMarkedWhileTheLegacyOneReceives) {
  const auto kernel = [](CUstream stream) { launch(stream), fake_block(stream); };
  const CUstream without = blocking_stream(), ahead = blocking_stream(), behind = blocking_stream();
  receive();
  fake_release(transfer);
  kernel(without);
  events();
  cuStreamDestroy_v2(without);
  EXPECT_NE(events().at(0).ticket, 0u);

  kernel(ahead);
  ncclRecv(buffer, 1, ncclInt8, 0, c, nullptr);
  events();
  receive();
  kernel(behind);  // it waits already
  events();
  const auto dropped = core()->shim->dropped_events();
  cuStreamDestroy_v2(behind);
  EXPECT_EQ(events().at(0).kind, EventKind::stream_destroyed);
  cuStreamDestroy_v2(ahead);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_abandoned});
  EXPECT_EQ(core()->shim->dropped_events(), dropped);
}

// An event there, or a kernel, may be held up by a blocking stream that receives, and so would a marker be.
TEST_F(DefaultStreams, TheEndOfABlockingStreamIsNotMarkedWhereTheLegacyOneWasUsedSince) {
  const std::function<void()> all[] = {[] { launch(nullptr); }, [&] { cuEventRecord(event(), nullptr); },
                                       [&] { cuMemcpyDtoHAsync_v2(buffer, 0, 64, nullptr); }};
  for (const auto& use : all) {
    const CUstream working = blocking_stream();
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
    launch(working);
    fake_block(working);
    use();
    events();
    cuStreamDestroy_v2(working);
    EXPECT_EQ(kinds(events()), Kinds{EventKind::stream_abandoned}) << &use - all;
  }
}

// The legacy stream is asked in earnest then, although it has had nothing.
TEST_F(DefaultStreams, AfterAnEndThatNobodySeesTheLegacyStreamAnswersForBlockingOnes) {
  const CUstream working = blocking_stream();
  receive();
  launch(working);
  fake_block(working);
  cuEventRecord(event(), nullptr);
  const weft::StreamId id = legacy();
  EXPECT_EQ(core()->shim->ask_stream(0, id).order, StreamOrder::none) << "it was not asked";
  cuStreamDestroy_v2(working);
  fake_block(nullptr);  // as it answers for the other one
  EXPECT_EQ(ask(id), StreamAnswer::busy);
  fake_release(nullptr);
  for (int answers = 0; answers < 2; ++answers) {  // the first one may come before the detector has heard of the end
    const weft::Answer answer = core()->shim->ask_stream(0, id);
    EXPECT_EQ(answer.says, StreamAnswer::dry);
    EXPECT_EQ(answer.order, StreamOrder::legacy);
  }
  EXPECT_EQ(core()->shim->ask_stream(0, id).order, StreamOrder::none);
}

// The launch may stand between the marker and NCCL's kernel.
TEST_F(DefaultStreams, ALaunchOfAnotherThreadNextToAGroupMakesTheOrderUnsure) {
  static CUstream launched_on = nullptr;
  launched_on = transfer;
  void (*const by_another)() = [] { std::thread([] { launch(launched_on); }).join(); };
  for (const CUstream stream : {blocking_stream(), static_cast<CUstream>(nullptr), compute}) {
    for (const bool launches : {false, true}) {
      events();
      fake_nccl_in_close(launches ? by_another : nullptr);
      ncclRecv(buffer, 1, ncclInt8, 0, c, stream);
      fake_nccl_in_close(nullptr);
      EXPECT_EQ(std::ranges::count(kinds(events()), EventKind::order_unsure), launches && stream != compute ? 1 : 0);
    }
  }
}

// An event that is recorded there, or a wait, stands between blocking streams.
TEST_F(DefaultStreams, WhatHasNoMarkerOnTheLegacyStreamIsNotedNextToAGroupOfABlockingOne) {
  const CUevent timing = event();
  receive();
  cuEventRecord(timing, nullptr);
  EXPECT_EQ(events().size(), 0u) << "no blocking stream receives";
  fake_release(transfer);
  ncclRecv(buffer, 1, ncclInt8, 0, c, blocking_stream());
  const weft::Ticket done = events().at(0).done_ticket;
  cuEventRecord(timing, nullptr);
  cuEventRecord(timing, compute);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::legacy_used});
  EXPECT_EQ(seen[0].stream, legacy());
  EXPECT_EQ(seen[0].order, StreamOrder::legacy);
  EXPECT_EQ(seen[0].ticket, done);
  for (int i = 0; i < 100; ++i) cuEventRecord(timing, nullptr);
  EXPECT_EQ(events().size(), 0u) << "that says nothing new";
}

// Whatever it is: a wait for something that is over, one more for a receive that it waits for, a copy, a host function.
TEST_F(DefaultStreams, WhatStandsBetweenMayBeAWaitACopyOrAHostFunction) {
  const CUstream blocking = blocking_stream();
  receive();
  cuStreamWaitEvent(nullptr, arrived, 0);
  const CUevent timing = event(), copied = event();
  cuEventRecord(timing, compute);
  launch(transfer);
  fake_block(transfer);
  cuMemcpyDtoHAsync_v2(buffer, 0, 1 << 20, compute);
  cuEventRecord(copied, compute);
  fake_block(compute);
  const std::function<void()> all[] = {[&] { cuStreamWaitEvent(nullptr, timing, 0); },
                                       [&] { cuStreamWaitEvent(nullptr, arrived, 0); },
                                       [&] { cuStreamWaitEvent(nullptr, copied, 0); },
                                       [&] { cuMemcpyDtoHAsync_v2(buffer, 0, 64, nullptr); },
                                       [&] { cuMemcpyDtoHAsync_v2(buffer, 0, 1 << 20, nullptr); },
                                       [&] {
                                         cuLaunchHostFunc(
                                             nullptr, [](void*) {}, nullptr);
                                       }};
  for (const auto& use : all) {
    ncclRecv(buffer, 1, ncclInt8, 0, c, blocking);
    events();
    use();
    EXPECT_EQ(std::ranges::count(kinds(events()), EventKind::legacy_used), 1) << &use - all;
  }
}

TEST_F(DefaultStreams, TheLegacyStreamIsNotBusyForABlockingOneThatCopies) {
  const CUstream blocking = blocking_stream();
  receive();
  launch(nullptr);
  fake_block(nullptr);  // as it answers for the other one
  const weft::StreamId id = legacy();
  EXPECT_EQ(ask(id), StreamAnswer::busy);
  cuMemcpyDtoHAsync_v2(buffer, 0, 1 << 20, blocking);
  fake_block(blocking);
  EXPECT_EQ(ask(id), StreamAnswer::unknown);
  launch(blocking);
  EXPECT_EQ(ask(id), StreamAnswer::busy);
}

// Launches on a thread's own stream that has had a marker are no unasked ones.
TEST_F(DefaultStreams, ALaunchOfAnotherThreadOnItsOwnMakesTheOrderUnsure) {
  static std::binary_semaphore ready{0}, turn{0}, launched{0};
  receive();
  std::thread other([this] {
    cuStreamWaitEvent(CU_STREAM_PER_THREAD, arrived, 0);
    ready.release();
    turn.acquire();
    launch(CU_STREAM_PER_THREAD);
    launched.release();
  });
  ready.acquire();
  fake_release(transfer);
  events();
  fake_nccl_in_close([] { turn.release(), launched.acquire(); });
  ncclRecv(buffer, 1, ncclInt8, 0, c, nullptr);
  fake_nccl_in_close(nullptr);
  other.join();
  EXPECT_EQ(std::ranges::count(kinds(events()), EventKind::order_unsure), 1);
}

TEST_F(DefaultStreams, TheLegacyStreamIsDryWhenTheHostHasWaitedForTheDevice) {
  launch(nullptr);
  const weft::StreamId id = legacy();
  fake_block(nullptr);  // as if it answered for another stream
  EXPECT_EQ(ask(id), StreamAnswer::busy);
  cuCtxSynchronize();
  EXPECT_EQ(ask(id), StreamAnswer::dry);
  launch(nullptr);
  EXPECT_EQ(ask(id), StreamAnswer::busy);
}

// PyTorch makes communicators late, and pools of streams early.
TEST_F(ShimTest, StreamsThatAreBusyWhenTheFirstCommunicatorIsMadeAreInUse) {
  std::vector<CUstream> pool;
  for (int i = 0; i < 40; ++i) pool.push_back(stream());
  cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, pool[20], nullptr, nullptr);
  fake_block(pool[20]);
  communicator();
  EXPECT_EQ(streams_to_ask(), 2) << "that one, and the legacy stream";
}

}  // namespace
