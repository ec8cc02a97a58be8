// Waits of streams, through events, and of the host.
#include "tests/shim/shim_fixture.h"

namespace {

class Waits : public ReceivingJob {};

TEST_F(Waits, AWaitForAGroupIsMarkedOnEitherSide) {
  const weft::Event group = receive();
  cuStreamWaitEvent(compute, arrived, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, group.stream);
  EXPECT_EQ(seen[0].awaited.ticket, group.done_ticket);
  EXPECT_NE(seen[0].stream, group.stream);
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(group.done_ticket));
  EXPECT_EQ(fake_enqueued(compute), 3u);
}

// A stream behind one that waits for communication is held up by it, too.
TEST_F(Waits, AStreamThatWaitsForOneThatWaitsIsMarked) {
  receive();
  fake_block(compute);
  cuStreamWaitEvent(compute, arrived, 0);
  const weft::Event first = events().at(0);
  const CUstream copies = stream();
  const CUevent computed = event();
  cuEventRecord(computed, compute);
  cuStreamWaitEvent(copies, computed, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, first.stream);
  EXPECT_EQ(seen[0].awaited.ticket, first.done_ticket);
  EXPECT_NE(seen[0].stream, first.stream);
}

// Compute is held up by nothing but compute: its waits need no mark.
TEST_F(Waits, AWaitForComputeAloneIsNotMarked) {
  receive();
  const CUstream third = stream();
  const CUevent computed = event();
  cuEventRecord(computed, compute);
  cuStreamWaitEvent(third, computed, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(third), 1u);
}

TEST_F(Waits, ARefusedWaitIsPassedAtOnceAndHoldsNobodyUp) {
  receive();
  fake_fail_waits(true);
  EXPECT_NE(cuStreamWaitEvent(compute, arrived, 0), CUDA_SUCCESS);
  fake_fail_waits(false);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_TRUE(reached(seen[0].done_ticket));
  const CUevent computed = event();
  cuEventRecord(computed, compute);
  cuStreamWaitEvent(stream(), computed, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AGroupThatIsOverIsNotWaitedFor) {
  receive();
  fake_release(transfer);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(compute), 1u);
}

TEST_F(Waits, TheGroupsOwnStreamDoesNotWaitForIt) {
  receive();
  cuStreamWaitEvent(transfer, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, ASecondWaitForTheSameGroupIsNone) {
  receive();
  cuStreamWaitEvent(compute, arrived, 0);
  events();
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AnEventRecordedElsewhereStandsForNothing) {
  receive();
  const CUstream third = stream();
  cuEventRecord(arrived, third);
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AllAbisOfRecordAndWait) {
  receive();
  cuEventRecordWithFlags(arrived, transfer, 0);
  cuStreamWaitEvent_ptsz(nullptr, arrived, 0);
  auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  const weft::StreamId per_thread = seen[0].stream;
  cuEventRecord_ptsz(arrived, transfer);
  cuStreamWaitEvent(nullptr, arrived, 0);
  seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_NE(seen[0].stream, per_thread);
  cuEventRecordWithFlags_ptsz(arrived, transfer, 0);
  cuStreamWaitEvent(CU_STREAM_PER_THREAD, arrived, 0);
  EXPECT_TRUE(events().empty());  // waits for it already
}

// An event of a whole context.
TEST_F(Waits, AContextWithOneReceiveStandsForIt) {
  const weft::Event group = receive();
  const CUevent all = event();
  ASSERT_EQ(cuCtxRecordEvent(fake_context(0), all), CUDA_SUCCESS);
  cuStreamWaitEvent(compute, all, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, group.stream);
  EXPECT_EQ(seen[0].awaited.ticket, group.done_ticket);
  fake_release(transfer);
  cuGreenCtxRecordEvent(reinterpret_cast<CUgreenCtx>(fake_context(0)), all);
  cuStreamWaitEvent(stream(), all, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, AContextWithMoreReceivesStandsForAll) {
  receive();
  const CUstream third = stream();
  ncclRecv(buffer, 1, ncclInt8, 0, c, third);
  const weft::Event last = events().at(0);
  const CUevent all = event();
  cuCtxRecordEvent(fake_context(0), all);
  cuStreamWaitEvent(compute, all, 0);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, weft::every_stream);
  EXPECT_GE(seen[0].awaited.ticket, last.done_ticket);
  cuEventSynchronize(all);
  EXPECT_EQ(events().at(0).stream, 0u);
  fake_release(transfer);
  fake_release(third);
  cuStreamWaitEvent(stream(), all, 0);
  EXPECT_TRUE(events().empty());
}

// Nothing goes onto streams that the caller has not named: they may be captured into, destroyed, or the legacy one.
TEST_F(Waits, AContextThatWaitsIsNotedAndNoStreamIsMarked) {
  const weft::Event group = receive();
  const CUstream third = stream();
  core()->shim->set_launches_counted(true);
  cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, third, nullptr, nullptr);
  cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  const std::size_t on_third = fake_enqueued(third), on_legacy = fake_enqueued(CU_STREAM_LEGACY);
  ASSERT_EQ(cuCtxWaitEvent(fake_context(0), arrived), CUDA_SUCCESS);
  auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::context_waits});
  EXPECT_EQ(seen[0].awaited.stream, group.stream);
  EXPECT_EQ(seen[0].awaited.ticket, group.done_ticket);
  EXPECT_GE(seen[0].ticket, group.done_ticket);
  EXPECT_LE(fake_enqueued(third), on_third + 1) << "the wait itself";
  EXPECT_LE(fake_enqueued(CU_STREAM_LEGACY), on_legacy + 1);
  cuStreamWaitEvent(third, arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::wait_issued}) << "the context's wait does not stand for it";
  fake_release(transfer);
  cuGreenCtxWaitEvent(reinterpret_cast<CUgreenCtx>(fake_context(0)), arrived);
  EXPECT_TRUE(events().empty()) << "it is over";
}

TEST_F(Waits, HostWaitsWithNothingPendingAreNothing) {
  cuStreamSynchronize(compute);
  cuEventSynchronize(arrived);
  cuCtxSynchronize();
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(fake_enqueued(compute), 0u);
}

TEST_F(Waits, AHostWaitForTheDevice) {
  receive();
  cuCtxSynchronize();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(seen[0].stream, 0u);
  EXPECT_EQ(fake_enqueued(CU_STREAM_LEGACY), 0u);
}

// A marker might wait for what the main job does not wait for: for the legacy stream when the stream is a blocking one,
// and for whoever shares its hardware queue.
TEST_F(Waits, AHostWaitPutsNothingOnAnyStream) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  receive();
  fake_block(compute);
  const std::size_t before = fake_enqueued(transfer);
  cuStreamSynchronize(blocking);
  cuCtxSynchronize_v2(nullptr);
  EXPECT_EQ(fake_enqueued(blocking), 0u);
  EXPECT_EQ(fake_enqueued(compute), 1u);
  EXPECT_EQ(fake_enqueued(transfer), before);
}

TEST_F(Waits, AHostWaitForAStream) {
  const weft::Event group = receive();
  cuStreamSynchronize(transfer);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(seen[0].stream, group.stream);
}

TEST_F(Waits, AHostWaitForTheLegacyStreamPutsNothingOnIt) {
  receive();
  cuStreamSynchronize(nullptr);
  cuStreamSynchronize_ptsz(nullptr);
  EXPECT_EQ(fake_enqueued(CU_STREAM_LEGACY), 0u);
  EXPECT_EQ(fake_enqueued(CU_STREAM_PER_THREAD), 0u);
}

TEST_F(Waits, AHostWaitForAnEvent) {
  const weft::Event group = receive();
  cuEventSynchronize(arrived);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::host_wait_begun, EventKind::host_wait_ended}));
  EXPECT_EQ(seen[0].stream, group.stream);
}

TEST_F(Waits, QuietMomentsAreOfferedAfterHostWaitsWhereTheyAreWanted) {
  cuCtxSynchronize();
  EXPECT_EQ(core()->quiet_moments, 0);
  core()->shim->want_quiet_moments(true);
  cuStreamSynchronize(compute);
  cuStreamSynchronize_ptsz(compute);
  cuEventSynchronize(arrived);
  cuCtxSynchronize();
  cuCtxSynchronize_v2(nullptr);
  EXPECT_EQ(core()->quiet_moments, 5);
  EXPECT_FALSE(core()->cancellable);
  core()->shim->want_quiet_moments(false);
  cuCtxSynchronize();
  EXPECT_EQ(core()->quiet_moments, 5);
}

TEST_F(Waits, NcclsOwnStreamsAreNotAsked) {
  receive();  // the fake NCCL makes a stream of its own
  EXPECT_EQ(streams_to_ask(), 3);
}

TEST_F(Waits, NcclsOwnThreadsWaitUnnoted) {
  receive();
  fake_nccl_thread_waits(transfer);
  EXPECT_TRUE(events().empty());
}

TEST_F(Waits, StreamsThatNcclsOwnThreadsMakeAreNotAsked) {
  fake_nccl_thread_makes_streams();
  receive();
  EXPECT_EQ(streams_to_ask(), 3);
}

}  // namespace
