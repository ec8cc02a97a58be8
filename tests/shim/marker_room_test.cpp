// Markers take entries of hardware queues: only so many are outstanding on a stream.
#include "shim/main_job/marker_room.h"

#include "detector/group_shape.h"
#include "tests/shim/shim_fixture.h"

namespace {

std::uint64_t likeness_of(const weft::Event& group) {
  return weft::likeness_of(group.summary, group.communicator);
}

class MarkerRoom : public ReceivingJob {
 protected:
  void fill_room() {
    for (std::uint32_t group = 0; group < weft::room_for_marks; ++group) ASSERT_NE(receive().done_ticket, 0u);
  }
  std::vector<weft::Event> receive_without_marks() {
    ncclRecv(buffer, 1, ncclInt8, 0, c, transfer);
    return events();
  }
};

TEST_F(MarkerRoom, AGroupGetsNoMarkersWhereTooManyAreOutstanding) {
  fill_room();
  const auto seen = receive_without_marks();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::marks_held_back, EventKind::group_issued}));
  EXPECT_EQ(seen[0].stream, seen[1].stream);
  EXPECT_EQ(seen[0].ticket, last_ticket + 1);
  EXPECT_EQ(seen[1].ticket, 0u);
  EXPECT_EQ(seen[1].done_ticket, 0u);
  EXPECT_EQ(seen[1].summary.receives, 1) << "its place in the rhythm is known";
}

TEST_F(MarkerRoom, OtherStreamsGetThem) {
  fill_room();
  ASSERT_EQ(cuStreamWaitEvent(compute, arrived, 0), CUDA_SUCCESS);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_NE(seen[0].done_ticket, 0u);
}

TEST_F(MarkerRoom, AWaitGetsNoneEither) {
  for (std::uint32_t wait = 0; wait < weft::room_for_marks; ++wait) {
    receive();
    cuStreamWaitEvent(compute, arrived, 0);
    ASSERT_EQ(kinds(events()), Kinds{EventKind::wait_issued});
  }
  CUevent passed = event();
  const CUstream other = stream();
  cuEventRecord(passed, compute);
  cuStreamWaitEvent(other, passed, 0);
  events();
  cuEventRecord(passed, other);
  cuStreamWaitEvent(compute, passed, 0);
  ASSERT_EQ(kinds(events()), Kinds{EventKind::marks_held_back});
}

// Two groups without markers stand behind the same marker: who waits for them waits twice.
TEST_F(MarkerRoom, AWaitForAGroupWithoutMarkersIsOneForSomethingUnknown) {
  fill_room();
  for (int group = 0; group < 2; ++group) {
    receive_without_marks();
    ASSERT_EQ(cuEventRecord(arrived, transfer), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(compute, arrived, 0), CUDA_SUCCESS);
    const auto seen = events();
    ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued}) << group;
    EXPECT_EQ(seen[0].awaited.stream, 0u);
    EXPECT_NE(seen[0].done_ticket, 0u);
  }
}

TEST_F(MarkerRoom, SoItIsWhenAllMarkersWereReached) {
  fill_room();
  receive_without_marks();
  fake_release(transfer);
  ASSERT_EQ(cuEventRecord(arrived, transfer), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(compute, arrived, 0), CUDA_SUCCESS);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, 0u);
}

TEST_F(MarkerRoom, AWaitForAGroupThatHasThemAgainIsKnown) {
  fill_room();
  receive_without_marks();
  fake_release(transfer);
  fake_block(transfer);
  const auto group = receive();
  ASSERT_EQ(cuEventRecord(arrived, transfer), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(compute, arrived, 0), CUDA_SUCCESS);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::wait_issued});
  EXPECT_EQ(seen[0].awaited.stream, group.stream);
  EXPECT_EQ(seen[0].awaited.ticket, group.done_ticket);
}

TEST_F(MarkerRoom, TheyGoOnWhenOldOnesWereReached) {
  fill_room();
  ASSERT_EQ(receive_without_marks().size(), 2u);
  fake_release(transfer);
  EXPECT_NE(receive().done_ticket, 0u);
}

TEST_F(MarkerRoom, AStreamInThePlaceOfAnotherOneBeginsAnew) {
  fill_room();
  ASSERT_EQ(cuStreamDestroy(transfer), CUDA_SUCCESS);
  transfer = stream();
  events();
  EXPECT_NE(receive().done_ticket, 0u);
}

// In a dark iteration: see runner/policy/control_schedule.h.
TEST_F(MarkerRoom, WithheldMarkersAreMissingUntilTheyAreWantedAgain) {
  const auto before = receive();
  core()->shim->withhold_markers(0, true, 0);
  const auto seen = receive_without_marks();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::marks_held_back, EventKind::group_issued}));
  EXPECT_EQ(seen[1].done_ticket, 0u);
  EXPECT_EQ(seen[1].summary.signature, before.summary.signature) << "its place in the rhythm is known";
  cuStreamWaitEvent(compute, arrived, 0);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::marks_held_back});
  core()->shim->withhold_markers(0, false, 0);
  EXPECT_NE(receive().done_ticket, 0u);
}

TEST_F(MarkerRoom, GroupsThatEndAnIterationAreMarkedInAnyCase) {
  core()->shim->withhold_markers(0, true, likeness_of(receive()));
  EXPECT_NE(receive().done_ticket, 0u);
  ncclSend(buffer, 1, ncclInt8, 0, c, transfer);
  const auto seen = events();
  ASSERT_EQ(kinds(seen), (Kinds{EventKind::marks_held_back, EventKind::group_issued}));
  EXPECT_EQ(seen[1].done_ticket, 0u) << "another shape";
  core()->shim->withhold_markers(0, false, 0);
}

TEST_F(MarkerRoom, AnotherDeviceIsNotMeant) {
  core()->shim->withhold_markers(1, true, 0);
  EXPECT_NE(receive().done_ticket, 0u);
  core()->shim->withhold_markers(1, false, 0);
  core()->shim->withhold_markers(-1, true, 0);
  core()->shim->withhold_markers(1 << 20, true, 0);
}

}  // namespace
