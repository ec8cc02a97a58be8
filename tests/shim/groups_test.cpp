// The shim's notes about communicators and groups.
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

class Groups : public ShimTest {};

TEST_F(Groups, NothingIsLoadedWithoutACommunicator) {
  const CUstream compute = stream();
  EXPECT_EQ(cuStreamSynchronize(compute), CUDA_SUCCESS);
  EXPECT_EQ(core_handle(), nullptr);
}

TEST_F(Groups, TheFirstCommunicatorLoadsTheCore) {
  communicator(4, 1);
  ASSERT_NE(core(), nullptr);
  EXPECT_EQ(core()->opened, 1);
  EXPECT_EQ(core()->last_opened.rank, 1);
  EXPECT_EQ(core()->last_opened.ranks, 4);
  EXPECT_EQ(core()->shim->nccl_version, 22809);
  EXPECT_EQ(core()->shim->driver_version, 13000);
  EXPECT_EQ(events().size(), 0u);
  communicator();
  EXPECT_EQ(core()->opened, 2);
  EXPECT_EQ(core()->last_opened.id, 2u);
}

// One thread per GPU, as some frameworks do it. Whichever is second must not be left to be opened later, by a receive.
TEST_F(Groups, CommunicatorsMadeByTwoThreadsAtOnceAreBothOpenedWhenTheyAreMade) {
  setenv("TEST_CORE_MEETS", "2", 1);
  ncclComm_t made[2] = {};
  std::thread threads[2];
  for (int device = 0; device < 2; ++device) {
    threads[device] = std::thread([&made, device] {
      fake_set_device(device);
      ncclCommInitRank(&made[device], 2, ncclUniqueId{}, device);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_NE(core(), nullptr);
  EXPECT_EQ(core()->opened, 2);
  EXPECT_FALSE(core()->alone);
}

TEST_F(Groups, AnOperationOpensNoCommunicator) {
  const ncclComm_t c = non_blocking();
  fake_nccl_proceed(c);
  const CUstream s = stream();
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 1, c, s), ncclInProgress);
  ncclGroupStart();
  ncclRecv(buffer, 1, ncclInt8, 1, c, s);
  ncclGroupEnd();
  EXPECT_EQ(core_handle(), nullptr);
}

TEST_F(Groups, ACommunicatorThatIsNotReadyIsAskedNothing) {
  const ncclComm_t c = non_blocking();
  ncclResult_t progress = ncclSuccess;
  ASSERT_EQ(ncclCommGetAsyncError(c, &progress), ncclSuccess);
  EXPECT_EQ(progress, ncclInProgress);
  EXPECT_EQ(fake_nccl_early_questions(), 0);
  fake_nccl_proceed(c);
  ASSERT_EQ(ncclCommGetAsyncError(c, &progress), ncclSuccess);
  ASSERT_NE(core(), nullptr);
  EXPECT_EQ(core()->opened, 1);
}

TEST_F(Groups, ACommunicatorThatASplitMakesLaterIsOpenedWhenItIsReady) {
  const ncclComm_t parent = communicator();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t c = nullptr;
  ASSERT_EQ(ncclCommSplit(parent, 0, 0, &c, &config), ncclInProgress);
  ASSERT_EQ(c, nullptr);
  ncclResult_t progress = ncclInProgress;
  ASSERT_EQ(ncclCommGetAsyncError(parent, &progress), ncclSuccess);
  ASSERT_NE(c, nullptr);
  ASSERT_EQ(ncclCommGetAsyncError(c, &progress), ncclSuccess);
  EXPECT_EQ(core()->opened, 2);
}

TEST_F(Groups, ABareReceiveIsAGroupOfOne) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  ASSERT_EQ(ncclRecv(buffer, 10, ncclFloat32, 2, c, s), ncclSuccess);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].communicator, 1u);
  EXPECT_NE(seen[0].stream, 0u);
  EXPECT_EQ(seen[0].group, 1u);
  EXPECT_EQ(seen[0].summary.receives, 1);
  EXPECT_EQ(seen[0].summary.sends, 0);
  EXPECT_EQ(seen[0].summary.receive_peer, 2);
  EXPECT_EQ(seen[0].summary.send_peer, -1);
  EXPECT_EQ(seen[0].summary.received_bytes, 40u);
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(seen[0].done_ticket));
  fake_release(s);
  EXPECT_TRUE(reached(seen[0].done_ticket));
}

// One hardware queue: whatever stands behind a receive may hold up all streams.
TEST_F(Groups, AreNotedAndNothingIsEnqueuedWhereTheCoreForbidsMarkers) {
  ::setenv("TEST_CORE_FORBIDS_MARKERS", "1", 1);
  const ncclComm_t c = communicator();
  const CUstream communication = stream(), compute = stream();
  const CUevent received = event();
  events();
  ASSERT_EQ(ncclRecv(buffer, 10, ncclFloat32, 2, c, communication), ncclSuccess);
  ASSERT_EQ(cuEventRecord(received, communication), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(compute, received, 0), CUDA_SUCCESS);
  ncclGroupStart();
  ncclSend(buffer, 1, ncclInt8, 2, c, communication);
  ncclGroupEnd();
  // A block and an event of NCCL's own for each group.
  EXPECT_EQ(fake_enqueued(communication), 5u) << "receive, event, send";
  EXPECT_EQ(fake_enqueued(compute), 1u) << "the wait";
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::group_issued}));
  for (const weft::Event& group : seen) {
    EXPECT_EQ(group.ticket, 0u);
    EXPECT_EQ(group.done_ticket, 0u);
    EXPECT_NE(group.stream, 0u);
  }
  EXPECT_EQ(seen[1].summary.sends, 1);
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
  fake_release(communication);
  ASSERT_EQ(cuStreamSynchronize(compute), CUDA_SUCCESS);
  EXPECT_TRUE(events().empty()) << "nothing is known to be waited for";
}

// With one hardware queue an event is recorded where a stream would write a word.
TEST_F(Groups, EventsAreRecordedInPlaceOfWrites) {
  ::setenv("TEST_CORE_MARKS_BY_EVENTS", "1", 1);
  const ncclComm_t c = communicator();
  const CUstream communication = stream();
  events();
  ASSERT_EQ(ncclRecv(buffer, 10, ncclFloat32, 2, c, communication), ncclSuccess);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued}));
  const weft::MarkerEvent* const places = core()->events;
  for (const weft::Ticket ticket : {seen[0].ticket, seen[0].done_ticket}) {
    EXPECT_NE(ticket, 0u);
    EXPECT_EQ(places[ticket % core()->word_count].recorded, ticket);
    EXPECT_FALSE(reached(ticket)) << "the dispatcher writes the word";
  }
  const auto query = reinterpret_cast<CUresult (*)(void*)>(core()->shim->real_driver_symbol("cuEventQuery"));
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query(places[seen[0].ticket % core()->word_count].event), CUDA_SUCCESS);
  EXPECT_EQ(query(places[seen[0].done_ticket % core()->word_count].event), CUDA_ERROR_NOT_READY);
  fake_release(communication);
  EXPECT_EQ(query(places[seen[0].done_ticket % core()->word_count].event), CUDA_SUCCESS);
}

TEST_F(Groups, TheStartedMarkerWaitsForEarlierWork) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  fake_block(s);
  ncclRecv(buffer, 1, ncclInt8, 0, c, s);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(reached(seen[0].ticket));
  fake_release(s);
  EXPECT_TRUE(reached(seen[0].ticket));
  EXPECT_FALSE(reached(seen[0].done_ticket));
}

TEST_F(Groups, AGroupIsOneEventWithItsSum) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  ncclGroupStart();
  ncclGroupStart();
  ncclSend(buffer, 4, ncclFloat16, 2, c, s);
  ncclGroupEnd();
  EXPECT_TRUE(events().empty());
  ncclRecv(buffer, 4, ncclFloat64, 3, c, s);
  ncclAllReduce(buffer, buffer, 2, ncclInt32, ncclSum, c, s);
  ncclGroupEnd();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].summary.sent_bytes, 8u);
  EXPECT_EQ(seen[0].summary.received_bytes, 32u);
  EXPECT_EQ(seen[0].summary.collective_bytes, 8u);
  EXPECT_EQ(seen[0].summary.send_peer, 2);
  EXPECT_EQ(seen[0].summary.receive_peer, 3);
  EXPECT_EQ(seen[0].summary.collectives, 1);
}

TEST_F(Groups, CollectivesThatAddNumbersUpAreTold) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  const auto adds_up = [&](ncclResult_t) { return events().at(0).summary.reduces != 0; };
  events();
  EXPECT_TRUE(adds_up(ncclAllReduce(buffer, buffer, 2, ncclInt32, ncclSum, c, s)));
  EXPECT_TRUE(adds_up(ncclReduceScatter(buffer, buffer, 2, ncclInt32, ncclSum, c, s)));
  EXPECT_TRUE(adds_up(ncclReduce(buffer, buffer, 2, ncclInt32, ncclSum, 0, c, s)));
  EXPECT_FALSE(adds_up(ncclAllGather(buffer, buffer, 2, ncclInt32, c, s)));
  EXPECT_FALSE(adds_up(ncclBroadcast(buffer, buffer, 2, ncclInt32, 0, c, s)));
  EXPECT_FALSE(adds_up(ncclRecv(buffer, 2, ncclInt32, 2, c, s)));
}

TEST_F(Groups, SignaturesAreEqualForTheSameOperationsOnly) {
  const ncclComm_t c = communicator();
  const ncclComm_t other = communicator();
  const CUstream s = stream();
  events();
  ncclRecv(buffer, 8, ncclInt8, 2, c, s);
  ncclRecv(buffer, 8, ncclInt8, 2, c, s);
  ncclRecv(buffer, 9, ncclInt8, 2, c, s);
  ncclRecv(buffer, 8, ncclInt8, 3, c, s);
  ncclSend(buffer, 8, ncclInt8, 2, c, s);
  ncclRecv(buffer, 8, ncclInt8, 2, other, s);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0].summary.signature, seen[1].summary.signature);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_NE(seen[0].summary.signature, seen[i].summary.signature) << i;
}

TEST_F(Groups, TwoCommunicatorsInOneGroupAreTwoGroups) {
  const ncclComm_t first = communicator();
  const ncclComm_t second = communicator();
  const CUstream s = stream();
  const CUstream t = stream();
  events();
  ncclGroupStart();
  ncclSend(buffer, 1, ncclInt8, 0, first, s);
  ncclRecv(buffer, 1, ncclInt8, 0, second, t);
  ncclGroupEnd();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::group_issued}));
  EXPECT_NE(seen[0].communicator, seen[1].communicator);
  EXPECT_NE(seen[0].stream, seen[1].stream);
  EXPECT_NE(seen[0].group, seen[1].group);
}

TEST_F(Groups, ASimulatedEndLaunchesNothing) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  if (dlsym(RTLD_DEFAULT, "pncclGroupSimulateEnd") == nullptr) GTEST_SKIP();
  ncclGroupStart();
  ncclSend(buffer, 1, ncclInt8, 0, c, s);
  ncclGroupSimulateEnd(nullptr);
  EXPECT_TRUE(events().empty());
  ncclSend(buffer, 1, ncclInt8, 0, c, s);
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(Groups, WhatNcclCallsItselfIsNobodys) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  ncclBcast(buffer, 4, ncclInt8, 0, c, s);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::group_issued});
  EXPECT_EQ(seen[0].summary.collectives, 1);
}

TEST_F(Groups, ARefusedGroupIsOverAtOnceAndTheResultIsPassedOn) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  fake_nccl_refuse(ncclInvalidUsage);
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 0, c, s), ncclInvalidUsage);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(reached(seen[0].done_ticket));
  EXPECT_EQ(core()->shim->dropped_events(), 0u) << "nothing was launched, so nothing is unknown";
}

TEST_F(Groups, WhatAFailedGroupHasLaunchedIsNotKnown) {
  const ncclComm_t c = communicator();
  fake_nccl_refuse(ncclSystemError);
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 0, c, stream()), ncclSystemError);
  EXPECT_EQ(core()->shim->dropped_events(), 1u);
}

TEST_F(Groups, AMarkerTheDriverRefusesIsCountedAndNothingElse) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  fake_fail_writes(1);
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 0, c, s), ncclSuccess);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(core()->shim->dropped_events(), 1u);
}

TEST_F(Groups, MoreCommunicatorsInAGroupThanFitAreNamed) {
  std::vector<ncclComm_t> all;
  for (int i = 0; i < 66; ++i) all.push_back(communicator());
  const CUstream some = stream(), others = stream();  // each has room for the markers of its own
  events();
  ncclGroupStart();
  for (std::size_t i = 0; i < all.size(); ++i) ncclSend(buffer, 1, ncclInt8, 0, all[i], i < 33 ? some : others);
  ncclGroupEnd();
  EXPECT_EQ(events().size(), 64u);
  EXPECT_STREQ(core()->shim->full_table(), "communicators and streams in one NCCL group");
  EXPECT_EQ(core()->shim->dropped_events(), 0u);
}

TEST_F(Groups, MoreCommunicatorsMadeInAGroupThanFitAreNamed) {
  communicator();  // loads the core
  std::vector<ncclComm_t> made(65);
  ncclGroupStart();
  for (std::size_t i = 0; i < 64; ++i) ncclCommInitRank(&made[i], 2, ncclUniqueId{}, 0);
  EXPECT_EQ(core()->shim->full_table(), nullptr);
  ncclCommInitRank(&made[64], 2, ncclUniqueId{}, 0);
  ncclGroupEnd();
  EXPECT_STREQ(core()->shim->full_table(), "communicators made in one NCCL group");
}

TEST_F(Groups, TheLegacyStreamCanCarryGroups) {
  const ncclComm_t c = communicator();
  events();
  ncclRecv(buffer, 1, ncclInt8, 0, c, nullptr);
  ncclRecv(buffer, 1, ncclInt8, 0, c, CU_STREAM_LEGACY);
  const auto seen = events();
  // Launches are not counted here, so nobody knows whether others were made next to the groups.
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::order_unsure, EventKind::group_issued,
                                EventKind::order_unsure}));
  EXPECT_EQ(seen[0].stream, seen[2].stream);
}

TEST_F(Groups, ANonBlockingGroupIsMarkedDoneWhenNcclHasLaunchedIt) {
  const ncclComm_t c = non_blocking();
  EXPECT_EQ(core_handle(), nullptr);
  fake_nccl_proceed(c);
  ncclResult_t progress = ncclInProgress;
  ncclCommGetAsyncError(c, &progress);
  ASSERT_NE(core(), nullptr);
  events();
  const CUstream s = stream();
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 1, c, s), ncclInProgress);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  ncclCommGetAsyncError(c, &progress);
  EXPECT_FALSE(reached(seen[0].done_ticket));
  fake_nccl_proceed(c);
  ncclCommGetAsyncError(c, &progress);
  EXPECT_FALSE(reached(seen[0].done_ticket));
  fake_release(s);
  EXPECT_TRUE(reached(seen[0].done_ticket));
}

// A capture has begun in between: a marker would become a part of the main job's graph.
TEST_F(Groups, ANonBlockingGroupsDoneMarkerNeverGoesIntoACapture) {
  const ncclComm_t c = open_non_blocking();
  ncclResult_t progress = ncclInProgress;
  const CUstream s = stream();
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 1, c, s), ncclInProgress);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1u);
  fake_nccl_proceed(c);
  ASSERT_EQ(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ncclCommGetAsyncError(c, &progress);
  EXPECT_EQ(fake_captured(s), 0u);
  ASSERT_EQ(cuStreamEndCapture(s, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(reached(seen[0].done_ticket));  // nobody waits for a marker that will never come
}

// CU_STREAM_PER_THREAD means another stream on every thread, and one that watches communicators is not the one that
// receives.
TEST_F(Groups, ANonBlockingGroupsDoneMarkerNeverGoesOntoAnotherThreadsStream) {
  const ncclComm_t c = open_non_blocking();
  ncclResult_t progress = ncclInProgress;
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 1, c, CU_STREAM_PER_THREAD), ncclInProgress);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::group_issued, EventKind::order_unsure})) << "NCCL launches it later";
  fake_nccl_proceed(c);
  const std::size_t before = fake_enqueued(CU_STREAM_PER_THREAD);
  std::thread([&] { ncclCommGetAsyncError(c, &progress); }).join();
  EXPECT_EQ(fake_enqueued(CU_STREAM_PER_THREAD), before);
  EXPECT_TRUE(reached(seen[0].done_ticket));
}

TEST_F(Groups, CommunicatorsMadeInAGroupAreOpenedAtItsEnd) {
  ncclGroupStart();
  const ncclComm_t made = communicator();
  EXPECT_EQ(core_handle(), nullptr);
  ncclGroupEnd();
  ASSERT_NE(core(), nullptr);
  EXPECT_EQ(core()->opened, 1);
  ncclGroupStart();
  ncclComm_t part = nullptr;
  ncclCommSplit(made, 0, 0, &part, nullptr);
  ncclGroupEnd();
  EXPECT_EQ(core()->opened, 2);
}

TEST_F(Groups, TurnedOffIsAPassThroughForEver) {
  const ncclComm_t c = communicator();
  const CUstream s = stream();
  events();
  core()->shim->turn_off("a test");
  EXPECT_EQ(ncclRecv(buffer, 1, ncclInt8, 0, c, s), ncclSuccess);
  communicator();
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(core()->opened, 1);
  // The block, and the event that NCCL itself recorded; no marker.
  EXPECT_EQ(fake_enqueued(s), 2u);
}

TEST_F(Groups, TwoDevicesInOneProcess) {
  ncclComm_t both[2] = {};
  ASSERT_EQ(ncclCommInitAll(both, 2, nullptr), ncclSuccess);
  EXPECT_EQ(core()->opened, 2);
  fake_set_device(1);
  const CUstream far = stream();
  fake_set_device(0);
  const CUstream near = stream();
  events();
  ncclGroupStart();
  ncclSend(buffer, 1, ncclInt8, 1, both[0], near);
  ncclRecv(buffer, 1, ncclInt8, 0, both[1], far);
  ncclGroupEnd();
  const auto seen = events();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].device, 0);
  EXPECT_EQ(seen[1].device, 1);
  CUdevice now = -1;
  cuCtxGetDevice(&now);
  EXPECT_EQ(now, 0);
  EXPECT_TRUE(reached(seen[1].ticket, 1));
}

}  // namespace
