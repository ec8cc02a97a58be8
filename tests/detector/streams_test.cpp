// Which stream is a compute stream, and the limits of the tables; patterns are tested by scripts and pipelines.
#include "detector/streams.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class StreamsTest : public ::testing::Test {
 protected:
  void issue(GroupId id, StreamId stream, bool send_only = false) {
    Group group;
    group.id = id;
    group.stream = stream;
    group.start_known = true;
    group.send_only = send_only;
    groups.insert(group);
    streams.group_issued(group, static_cast<Ticket>(1000 + id));
  }
  void run(GroupId id) {
    streams.group_started(id);
    streams.group_done(id);
  }
  GroupTable groups;
  Streams streams{groups};
};

// PyTorch: receives on stream 2, a blocking all-reduce on the compute stream 1, whose end stream 2 waits for in turn.
TEST_F(StreamsTest, AComputeStreamWithAnOwnCollectiveStaysOne) {
  for (GroupId id = 1; id <= 8; ++id) {
    issue(id, 2);
    streams.wait_issued(1, id, static_cast<Ticket>(id));
    run(id);
    streams.marker_reached(1, static_cast<Ticket>(id));
  }
  issue(9, 1);
  streams.wait_issued(2, 9, 9);
  streams.group_started(9);
  ASSERT_TRUE(streams.idleness().has_value());
  EXPECT_EQ(streams.idleness()->group, 9u);
  EXPECT_EQ(streams.idleness()->pattern, Pattern::inline_group);
  EXPECT_EQ(streams.idleness()->stream, 1u);
  streams.group_done(9);
  EXPECT_FALSE(streams.idleness().has_value());
}

// A program with everything on stream 1 issues a whole iteration and then waits on the host: so few groups per wait
// look like a communication stream's. Kernels between two receives are work all the same.
TEST_F(StreamsTest, WorkBetweenTheReceivesThatOneHostWaitCoversIsNoBubble) {
  for (GroupId id = 1; id <= 30; id += 3) {
    for (GroupId group = id; group < id + 3; ++group) issue(group, 1);
    streams.idle_check_issued(2);
    streams.host_wait_begun(1, id + 2);
    streams.idle_check_reached(2);
    for (GroupId group = id; group < id + 3; ++group) {
      EXPECT_FALSE(streams.idleness().has_value()) << "before group " << group;
      streams.group_started(group);
      ASSERT_TRUE(streams.idleness().has_value());
      EXPECT_EQ(streams.idleness()->group, group);
      streams.group_done(group);
    }
    EXPECT_FALSE(streams.idleness().has_value());
    streams.host_wait_ended(1, id + 2);
  }
}

// Megatron-LM: the send of one microbatch is still pending when the host waits for the next receive on the same stream.
// That is one bubble, to the end of the receive.
TEST_F(StreamsTest, ASendBeforeTheReceiveThatTheHostWaitsForBelongsToItsBubble) {
  issue(1, 2, true);
  issue(2, 2);
  streams.host_wait_begun(0, 2);
  EXPECT_FALSE(streams.idleness().has_value());
  streams.group_started(1);
  ASSERT_TRUE(streams.idleness().has_value());
  EXPECT_EQ(streams.idleness()->group, 2u);
  EXPECT_EQ(streams.idleness()->pattern, Pattern::host_wait);
  EXPECT_EQ(streams.idleness()->stream, 0u) << "the host waits";
  streams.group_done(1);
  ASSERT_TRUE(streams.idleness().has_value()) << "between the two groups nothing else runs";
  EXPECT_EQ(streams.idleness()->group, 2u);
  streams.group_started(2);
  streams.group_done(2);
  EXPECT_FALSE(streams.idleness().has_value());
}

// Receives on the compute stream 1, sends on stream 2 behind an event of the compute stream: stream 2 waits for the
// receive before its send, and that is idle only when stream 1 has got to the receive.
TEST_F(StreamsTest, AWaitForAStreamThatStillComputesIsNoBubble) {
  for (GroupId id = 1; id <= 9; id += 2) {
    issue(id, 1);
    streams.wait_issued(2, id, static_cast<Ticket>(id));
    issue(id + 1, 2, true);
    EXPECT_TRUE(streams.marker_reached(2, static_cast<Ticket>(id)));
    EXPECT_FALSE(streams.idleness().has_value());
    streams.group_started(id);
    EXPECT_TRUE(streams.idleness().has_value());
    streams.group_done(id);
    EXPECT_FALSE(streams.idleness().has_value());
    issue(100 + id, 1);  // the next receive is ahead of stream 1, which computes
    streams.group_started(id + 1);
    EXPECT_FALSE(streams.idleness().has_value()) << "a blocked send while stream 1 computes";
    streams.group_done(id + 1);
    run(100 + id);
  }
}

TEST_F(StreamsTest, AStreamThatIsHeardOfNoMoreIsNotBusyForEver) {
  issue(1, 2);
  streams.wait_issued(1, 1, 1);
  streams.wait_issued(5, 1, 2);
  run(1);
  EXPECT_TRUE(streams.marker_reached(1, 1));
  EXPECT_TRUE(streams.marker_reached(5, 2));
  for (GroupId id = 2; id < 40; ++id) {
    issue(id, 2);
    streams.wait_issued(1, id, static_cast<Ticket>(10 + id));
    streams.group_started(id);
    EXPECT_TRUE(streams.marker_reached(1, static_cast<Ticket>(10 + id)));
    // Stream 5 may still run; after 32 groups without news it counts no more.
    EXPECT_EQ(streams.idleness().has_value(), id > 33) << id;
    streams.group_done(id);
  }
}

TEST_F(StreamsTest, MarkersThatNeverArriveAreDroppedAndCounted) {
  issue(1, 2);
  for (Ticket t = 1; t <= 3000; ++t) streams.wait_issued(1, 1, t);
  EXPECT_EQ(streams.dropped(), 3000u - 1024u);
  EXPECT_FALSE(streams.marker_reached(1, 1));
  EXPECT_TRUE(streams.marker_reached(1, 3000));
  for (GroupId id = 2; id < 10000; ++id) issue(id, 2);
  EXPECT_GT(groups.forgotten(), 5000u);
  const std::uint64_t before = streams.dropped();
  streams.wait_issued(0, 1, 4);
  EXPECT_EQ(streams.dropped(), before + 1);
  streams.stream_destroyed(1);
  EXPECT_EQ(streams.dropped(), before + 1);
}

// A program that makes and destroys a stream in each iteration comes to large numbers; few of them live at a time.
TEST_F(StreamsTest, TheNumberOfAStreamMayBeAnyNumber) {
  GroupId group = 0;
  for (const StreamId last : {65535U, 65536U, 5'000'000U}) {
    issue(++group, 2);
    streams.wait_issued(last, group, 1);
    EXPECT_FALSE(streams.idleness().has_value()) << last;
    streams.group_started(group);
    EXPECT_TRUE(streams.marker_reached(last, 1));
    EXPECT_TRUE(streams.idleness().has_value()) << last;
    streams.group_done(group);
    streams.stream_destroyed(last);
  }
  EXPECT_EQ(streams.dropped(), 0U);
}

TEST_F(StreamsTest, StreamsThatFindNoRoomAreCounted) {
  for (StreamId id = 1; id <= 8192; ++id) streams.idle_check_issued(id);
  EXPECT_EQ(streams.dropped(), 0u);
  streams.idle_check_issued(9000);
  EXPECT_EQ(streams.dropped(), 1u);
  streams.stream_destroyed(17);
  streams.idle_check_issued(9001);
  EXPECT_EQ(streams.dropped(), 1u);
}

class HostWaitTest : public StreamsTest {
 protected:
  // Stream 1 is a compute stream, and the host waits for the receive 2 on stream 2, which has begun.
  void SetUp() override {
    issue(1, 2);
    streams.wait_issued(1, 1, 1);
    run(1);
    streams.marker_reached(1, 1);
    issue(2, 2);
    streams.group_started(2);
    streams.idle_check_issued(1);
    streams.host_wait_begun(2, 2);
  }
  bool idle() { return streams.idleness().has_value(); }
};

TEST_F(HostWaitTest, ADryStreamThatRunsAgainEndsTheIdleness) {
  EXPECT_FALSE(idle());
  streams.idle_check_reached(1);
  EXPECT_TRUE(idle());
  streams.idle_check_issued(1);
  EXPECT_FALSE(idle());
  streams.host_wait_ended(2, 2);
  streams.idle_check_issued(1);
  streams.host_wait_begun(2, 2);
  streams.idle_check_reached(1);
  EXPECT_TRUE(idle());
}

// Stream 3 has only ever been launched on.
TEST_F(HostWaitTest, OneThatRunsAgainIsBusyWhateverItDoes) {
  streams.idle_check_issued(3);
  streams.idle_check_reached(1);
  EXPECT_FALSE(idle());
  streams.idle_check_reached(3);
  EXPECT_TRUE(idle());
  streams.idle_check_issued(3);
  EXPECT_FALSE(idle());
}

TEST_F(HostWaitTest, AThreadThatGoesOnMayLaunchWhileAnotherWaits) {
  streams.idle_check_issued(3);
  streams.host_wait_begun(0, 2);
  streams.idle_check_reached(1);
  streams.idle_check_reached(3);
  EXPECT_TRUE(idle());
  streams.host_wait_ended(0, 2);
  EXPECT_FALSE(idle());
  streams.host_wait_ended(2, 2);
  streams.idle_check_issued(1);
  streams.idle_check_issued(3);
  streams.host_wait_begun(2, 2);
  streams.idle_check_reached(1);
  EXPECT_FALSE(idle());
  streams.idle_check_reached(3);
  EXPECT_TRUE(idle());
}

TEST_F(HostWaitTest, WhatWasNotDryWhenTheHostWentOnKeepsNothingUp) {
  streams.idle_check_issued(3);
  streams.host_wait_ended(2, 2);
  streams.idle_check_reached(1);  // the answer is too late
  streams.wait_issued(1, 2, 5);
  EXPECT_TRUE(streams.marker_reached(1, 5));
  EXPECT_TRUE(idle());  // stream 1 waits for the receive, and 3 is nothing that is known to run
}

TEST_F(HostWaitTest, ManyDrainsThatAreNotReachedAreNoLoss) {
  for (int wait = 0; wait < 5000; ++wait) {
    streams.idle_check_issued(1);
    streams.host_wait_begun(2, 2);
    streams.host_wait_ended(2, 2);
  }
  EXPECT_EQ(streams.dropped(), 0u);
}

TEST_F(StreamsTest, ManyHostWaitsAtOnce) {
  issue(1, 2);
  streams.group_started(1);
  for (int i = 0; i < 100; ++i) streams.host_wait_begun(0, 1);
  EXPECT_TRUE(streams.idleness().has_value());
  for (int i = 0; i < 100; ++i) streams.host_wait_ended(0, 1);
  EXPECT_FALSE(streams.idleness().has_value());
  EXPECT_EQ(streams.dropped(), 36u);
}

}  // namespace
}  // namespace weft
