// Streams that copy between host and device, run host functions, or wait for one that does: they do not compute.
#include "streams_fixture.h"

namespace weft {
namespace {

class StreamCopies : public StreamsTest {
 protected:
  // With these marks around it, for a place behind stream 3's marker 3000 and the copy that comes next there.
  void wait_for_copy(StreamId stream, Ticket ticket) { wait(stream, {3, 3000, true}, ticket, ticket + 1); }
};

// A copy is no compute, and what is launched behind it stands.
TEST_F(StreamCopies, AStreamThatCopiesDoesNotCompute) {
  issue(1, 2);
  mark(1, 3001, false);
  streams.group_started(1);
  EXPECT_TRUE(busy()) << "something was launched ahead of the copy";
  EXPECT_TRUE(streams.marker_reached(1, 3001));
  answer(StreamAnswer::dry, {1});
  EXPECT_EQ(idle_for(), 1u) << "nothing was launched behind it";
  mark(1, 3002, true);
  EXPECT_EQ(idle_for(), 1u) << "something is, which waits for it";
  EXPECT_TRUE(streams.marker_reached(1, 3002));
  answer(StreamAnswer::busy, {1});
  EXPECT_TRUE(busy());
}

TEST_F(StreamCopies, WorkMayStandBehindACopyOfAnotherStream) {
  issue(1, 2);
  streams.group_started(1);
  mark(1, 3002, true);
  answer(StreamAnswer::busy, {6});
  EXPECT_TRUE(busy()) << "it was launched before the copy";
  streams.answered(6, {StreamAnswer::busy, 3004});
  EXPECT_TRUE(uncertain());
  EXPECT_TRUE(streams.marker_reached(1, 3002));
  answer(StreamAnswer::dry, {1});
  streams.answered(6, {StreamAnswer::busy, 3004});
  EXPECT_TRUE(busy());
}

TEST_F(StreamCopies, WhatWaitsForACopyWaits) {
  issue(1, 2);
  mark(3, 3001, true);
  wait(4, {3, 3001}, 3002, 3003, true);
  streams.group_started(1);
  at_wait(4, 2);
  EXPECT_EQ(idle_for(), 1u);
}

// Stream 5, behind a group of its own, waits for a copy of stream 3 and then for the receive.
TEST_F(StreamCopies, AWaitForOneIsOverWhenAMarkerBehindItIsReached) {
  issue(1, 2);
  issue(2, 5);
  mark(3, 3000, false);
  wait_for_copy(5, 3001);
  mark(3, 3003, true);
  wait_for_group(5, 1, 10);
  mark(3, 4020, false);
  streams.group_started(1);
  streams.group_started(2);
  EXPECT_TRUE(streams.marker_reached(3, 3000));
  EXPECT_EQ(idle_for(), 1u) << "stream 3 copies";
  EXPECT_TRUE(streams.marker_reached(3, 3003));
  EXPECT_TRUE(uncertain()) << "stream 3 may stand behind the wait of stream 5 for the receive";
}

// A host that is ahead: stream 3 copies, for stream 5, for stream 4; it has yet to wait for stream 4 behind the copy.
TEST_F(StreamCopies, ARoundOfWaitsAcrossACopyEndsInTheCopy) {
  issue(1, 2);
  mark(3, 3000, false);
  wait_for_copy(5, 3001);
  wait(4, {5, 3002}, 3003, 3004, true);
  wait(3, {4, 3004}, 3005, 3006, true);
  streams.group_started(1);
  EXPECT_TRUE(streams.marker_reached(3, 3000));
  EXPECT_TRUE(streams.marker_reached(5, 3001));
  EXPECT_TRUE(streams.marker_reached(4, 3003));
  EXPECT_EQ(idle_for(), 1u);
}

// So much is outstanding that the copy has no marks.
TEST_F(StreamCopies, OutOfSightAreUncertainOnlyNextToAGroup) {
  mark(1, 3000, false);
  streams.marks_held_back(1, 5000, true);
  EXPECT_TRUE(streams.marker_reached(1, 3000));
  EXPECT_TRUE(busy());
  EXPECT_FALSE(streams.wants_answers());
  issue(1, 2);
  streams.group_started(1);
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  EXPECT_TRUE(busy());
  streams.marks_held_back(1, 6000, false);
  EXPECT_TRUE(uncertain()) << "a group may be among what has no marks";
  mark(1, 7000, false);
  EXPECT_TRUE(streams.marker_reached(1, 7000));
  EXPECT_TRUE(busy());
}

// The wait of stream 1 is for a copy behind a group of stream 2, which is over: that is in the copy.
TEST_F(StreamsTest, WhoIsBehindAGroupThatIsOverIsInTheCopyBehindIt) {
  groups_on(streams, 2, {1}, 7);
  groups_on(streams, 1, {4}, 8);
  wait(1, AwaitedPlace(2, 2001, true), 3001, 3002, true);
  wait(2, AwaitedPlace(5, 3500), 3003, 3004, true);
  mark(5, 3500, false);
  streams.group_started(1);
  streams.group_started(4);
  streams.group_done(1);
  EXPECT_TRUE(uncertain()) << "stream 5 may stand behind the wait";
}

// NCCL runs the groups of a communicator one after the other.
TEST_F(StreamsTest, AGroupWaitsForAnEarlierOneBehindACopyAndAnotherCommunicatorsGroup) {
  mark(1, 500, true);
  groups_on(streams, 1, {1}, 7);
  groups_on(streams, 1, {2}, 5);
  groups_on(streams, 2, {3}, 5);
  streams.group_started(3);
  EXPECT_TRUE(busy()) << "no communication is under way";
  EXPECT_TRUE(streams.marker_reached(1, 500));
  streams.group_started(1);
  answer(StreamAnswer::dry, {1, 2});
  EXPECT_EQ(idle_for(), 1u);
}

}  // namespace
}  // namespace weft
