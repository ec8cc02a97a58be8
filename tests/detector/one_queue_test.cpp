// Streams that may share one hardware queue, and what stands in it while the host waits.
#include <gtest/gtest.h>

#include "detector/streams.h"
#include "streams_fixture.h"

namespace weft {
namespace {

// One hardware queue: stream 1 computes, 2 communicates, 3 computes beside it.
struct OneQueue : StreamsTest {
  GroupTable one_groups{1024};
  Streams one{one_groups, true, true};

  void group(GroupId id, Ticket ticket, bool nothing_launched = true) {
    Group group;
    group.id = id;
    group.stream = 2;
    group.start_known = true;
    group.nothing_launched = nothing_launched;
    group.done_ticket = ticket + 1;
    one_groups.insert(group);
    one.group_issued(group, ticket);
  }
  void wait_of(StreamId stream, AwaitedPlace awaited, Ticket ticket) {
    Event event{};
    event.kind = EventKind::wait_issued;
    event.stream = stream;
    event.awaited = awaited;
    event.ticket = ticket;
    event.done_ticket = ticket + 1;
    one.wait_issued(event);
  }
  void look_twice() {
    one.looked();
    one.looked();
  }
  Verdict verdict() { return one.verdict(); }
  bool is(Verdict::Kind kind) { return verdict().kind == kind; }
};

TEST_F(OneQueue, AMarkThatIsReachedBehindAGroupShowsThatItsEndHoldsNobodyUp) {
  group(1, 10, false);
  wait_of(1, {2, 11}, 12);
  one.group_started(1);
  EXPECT_TRUE(is(Verdict::Kind::uncertain)) << "the end of the group may hold the queue";
  EXPECT_STREQ(verdict().why, "one hardware queue: what was launched behind a blocked stream may be held up");
  one.marker_reached(1, 12);
  look_twice();
  EXPECT_TRUE(is(Verdict::Kind::idle));
  one.group_done(1);
  one.marker_reached(1, 13);
  group(2, 20);
  wait_of(1, {2, 21}, 22);
  one.group_started(2);
  EXPECT_TRUE(is(Verdict::Kind::busy)) << "stream 1 was launched on and has not got to its wait";
}

TEST_F(OneQueue, AGroupWhoseEndIsToldLaterInTheSameLookShowsNothing) {
  group(1, 10, false);
  wait_of(1, {2, 11}, 12);
  one.group_started(1);
  one.marker_reached(1, 12);
  one.group_done(1);
  look_twice();
  one.marker_reached(1, 13);
  group(2, 20);
  wait_of(1, {2, 21}, 22);
  one.group_started(2);
  EXPECT_TRUE(is(Verdict::Kind::uncertain));
}

struct OneQueueThatPasses : OneQueue {
  void SetUp() override {
    group(1, 10, false);
    wait_of(1, {2, 11}, 12);
    one.group_started(1);
    one.marker_reached(1, 12);
    look_twice();
    verdict();
  }
};

TEST_F(OneQueueThatPasses, WorkOfAnotherStreamThatMayStandBehindTheWaitIsUncertain) {
  wait_of(3, {1, 13}, 30);
  EXPECT_TRUE(is(Verdict::Kind::uncertain)) << "stream 3 was launched on: before the wait, or behind it";
  one.group_done(1);
  one.marker_reached(1, 13);
  EXPECT_TRUE(is(Verdict::Kind::busy));
}

TEST_F(OneQueueThatPasses, WorkAheadOfTheWaitRuns) {
  one.group_done(1);
  one.marker_reached(1, 13);
  group(2, 20);
  wait_of(3, {2, 21}, 22);  // stream 3 computes up to here
  wait_of(1, {2, 21}, 24);
  one.group_started(2);
  one.marker_reached(1, 24);
  EXPECT_TRUE(is(Verdict::Kind::busy));
  one.marker_reached(3, 22);
  EXPECT_TRUE(is(Verdict::Kind::idle));
}

TEST_F(OneQueueThatPasses, AStreamThatAnswersThatItIsBusyMayBeHeldUp) {
  EXPECT_TRUE(is(Verdict::Kind::idle));
  one.answered(3, {StreamAnswer::busy, 0});
  EXPECT_TRUE(is(Verdict::Kind::uncertain));
  one.answered(3, {StreamAnswer::dry, 0});
  EXPECT_TRUE(is(Verdict::Kind::idle));
}

TEST_F(OneQueueThatPasses, ASecondGroupHoldsTheQueueUntilTheFirstIsOver) {
  one.group_done(1);
  one.marker_reached(1, 13);
  group(2, 20);
  group(3, 22);
  one.group_started(2);
  wait_of(1, {2, 21}, 24);
  EXPECT_TRUE(is(Verdict::Kind::uncertain)) << "the launches of stream 1 may stand behind the second group";
  one.group_done(2);
  one.group_started(3);
  EXPECT_TRUE(is(Verdict::Kind::busy));
}

TEST_F(OneQueueThatPasses, AWaitForWorkThatRunsHoldsNobodyUpForLong) {
  one.group_done(1);
  one.marker_reached(1, 13);
  group(2, 20);
  one.group_started(2);
  wait_of(4, {1, 13}, 22);  // for the present work of stream 1
  one.marker_reached(4, 22);
  wait_of(1, {2, 21}, 24);
  EXPECT_TRUE(is(Verdict::Kind::busy));
}

// With one hardware queue: what stands in it while the host waits.
TEST_F(StreamsTest, WhatIsEnqueuedIsOnlyKnownWhileTheHostWaits) {
  issue(1, 2);
  streams.group_started(1);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more);
  streams.host_wait_begun(0);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::groups);
  streams.host_wait_ended(0);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more);
}

TEST_F(StreamsTest, AStreamThatWaitsWithNothingBehindIsEnqueued) {
  issue(1, 2);
  wait(1, {2, 2001}, 3001, 4001);
  streams.host_wait_begun(0);
  streams.group_started(1);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more) << "stream 1 has not got to its wait";
  at_wait(1, 1);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::waits);
  wait(1, {2, 2001}, 3002, 4002, true);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::waits) << "a second wait, with nothing in between";
  wait(1, {2, 2001}, 3003, 4003, false);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more) << "something was launched in between";
}

TEST_F(StreamsTest, AGroupBehindAGroupOrAWaitIsMore) {
  issue(1, 2);
  streams.group_started(1);
  streams.host_wait_begun(0);
  issue(2, 3);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more) << "it has not begun";
  streams.group_started(2);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::groups);
  issue(3, 2);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more) << "a kernel behind a running one";
  run(1);
  streams.group_started(3);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::groups);
  wait_for_group(4, 3, 1);
  at_wait(4, 1);
  issue(4, 4);
  EXPECT_EQ(streams.enqueued_while_host_waits(), Enqueued::more);
}

}  // namespace
}  // namespace weft
