// Kernels that may hold up a hardware queue that streams share; see doubts.cpp and queues.h.
#include "tests/detector/streams_fixture.h"

namespace weft {
namespace {

// Groups have the tickets 1000 + id and 2000 + id, so all marks of compute with 3000 and more stand behind them.
class SharedQueues : public StreamsTest {
 protected:
  void SetUp() override { streams.queues_are_shared(); }
  void compute_up_to(StreamId stream, std::initializer_list<Ticket> marks) {
    for (const Ticket ticket : marks) mark(stream, ticket, false);
  }
  void get_on(StreamId stream, Ticket ticket) { EXPECT_TRUE(streams.marker_reached(stream, ticket)); }
  // A sighting counts if it holds at the next look as well.
  void look_twice() {
    streams.looked();
    streams.looked();
  }
};

TEST_F(SharedQueues, AKernelBehindAGroupMayHoldUpWhatStandsBehindIt) {
  groups_on(streams, 1, {1, 2}, 1);
  compute_up_to(2, {3001});
  streams.group_started(1);
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  streams.group_started(2);
  EXPECT_TRUE(busy()) << "behind the last group stands nothing";
}

TEST_F(SharedQueues, NobodyIsHeldUpByWhatIsEnqueuedLater) {
  groups_on(streams, 1, {1}, 1);
  compute_up_to(2, {1010});
  groups_on(streams, 1, {12}, 1);
  streams.group_started(1);
  EXPECT_TRUE(busy());
}

TEST_F(SharedQueues, WithFewStreamsKernelsHoldUpNobody) {
  Streams few{groups, false, true};
  groups_on(few, 1, {1, 2}, 1);
  Event launched{};
  launched.kind = EventKind::mark_issued;
  launched.stream = 2;
  launched.ticket = 3001;
  few.mark_issued(launched);
  few.group_started(1);
  EXPECT_EQ(few.verdict().kind, Verdict::Kind::busy);
}

TEST_F(SharedQueues, ALaunchBehindTheGroupHoldsItUpAsWell) {
  groups_on(streams, 1, {1}, 1);
  streams.launch_noted(1, 2001);
  compute_up_to(2, {3001});
  streams.group_started(1);
  EXPECT_TRUE(uncertain());
}

// NCCL runs the kernels of a communicator one after the other, so that of the later one waits.
TEST_F(SharedQueues, TheKernelOfALaterGroupOfTheCommunicatorHoldsItUp) {
  groups_on(streams, 1, {1}, 1);
  groups_on(streams, 2, {2}, 1);
  compute_up_to(3, {3001});
  streams.group_started(1);
  EXPECT_TRUE(busy());
  streams.group_started(2);
  EXPECT_TRUE(uncertain());
}

TEST_F(SharedQueues, WhoGetsPastTwoSuchKernelsIsApart) {
  groups_on(streams, 1, {1, 2, 3}, 1);
  compute_up_to(2, {3001});
  streams.group_started(1);
  get_on(2, 3001);
  look_twice();
  compute_up_to(2, {3002});
  EXPECT_TRUE(uncertain()) << "a launch may be counted before it is made";
  streams.group_done(1);
  streams.group_started(2);
  look_twice();
  EXPECT_TRUE(busy()) << "it got past the kernels of both groups while the first one ran";
}

TEST_F(SharedQueues, OneKernelCountsOnce) {
  groups_on(streams, 1, {1, 2}, 1);
  compute_up_to(2, {3001, 3002, 3003});
  streams.group_started(1);
  get_on(2, 3001);
  look_twice();
  get_on(2, 3002);
  look_twice();
  EXPECT_TRUE(uncertain());
}

TEST_F(SharedQueues, WhatIsOverByTheNextLookShowsNothing) {
  groups_on(streams, 1, {1, 2}, 1);
  compute_up_to(2, {3001});
  streams.group_started(1);
  get_on(2, 3001);
  streams.looked();
  run(1);
  run(2);
  streams.looked();
  groups_on(streams, 1, {2001, 2002}, 1);
  compute_up_to(2, {5001, 5002});
  streams.group_started(2001);
  get_on(2, 5001);
  look_twice();
  EXPECT_TRUE(uncertain()) << "the first time, the end of the group may have come first";
}

// The tickets of one call are given out before the kernels of its groups are launched.
TEST_F(SharedQueues, TheStartOfAGroupShowsNothingOfKernelsOfItsCall) {
  groups_on(streams, 1, {1, 2, 3, 4, 5}, 1);
  groups_on(streams, 2, {1500}, 1);
  compute_up_to(2, {6001});
  streams.group_started(1);
  streams.group_started(1500);
  look_twice();
  for (const GroupId id : {1, 2}) {
    streams.group_done(id);
    streams.group_started(id + 1);
    look_twice();
  }
  streams.group_done(1500);
  EXPECT_TRUE(uncertain());
}

TEST_F(SharedQueues, AMarkOfLongAgoShowsNothing) {
  constexpr GroupId half = 1U << 31;  // of all tickets: the later ones seem to be earlier
  compute_up_to(2, {1});
  compute_up_to(3, {1U << 30});
  get_on(3, 1U << 30);
  get_on(2, 1);
  groups_on(streams, 1, {half, half + 1, half + 2, half + 3}, 1);
  compute_up_to(2, {static_cast<Ticket>(half + 5000)});
  for (const GroupId id : {half, half + 1}) {
    streams.group_started(id);
    look_twice();
    streams.group_done(id);
  }
  streams.group_started(half + 2);
  EXPECT_TRUE(uncertain());
}

// Waits: one place counts once, and only where something is surely held up.
class Waits : public SharedQueues {
 protected:
  // A group holds up stream 1, which has a launch behind its wait, up to the mark 5000; stream 2 has something up to the
  // marks from 6000 on. Each round has tickets of its own.
  void wait_and_launch_behind(Ticket round, InGraph in_graph = InGraph::no) {
    const GroupId id = round + 1;
    groups_on(streams, 9, {id}, 1);
    streams.group_started(id);
    wait(1, {9, static_cast<Ticket>(2000 + id)}, round + 3000, round + 3001, false, in_graph);
    compute_up_to(1, {round + 5000});
    compute_up_to(2, {round + 6000, round + 6001});
    get_on(1, round + 3000);
  }
  // Stream 2 gets past two such places, and stream 1 waits once more, not in a graph.
  void pass_two_and_wait(InGraph in_graph = InGraph::no) {
    for (const Ticket round : {0u, 10'000u}) {
      wait_and_launch_behind(round, in_graph);
      EXPECT_TRUE(uncertain());
      get_on(2, round + 6000);
      look_twice();
      run(round + 1);
      get_on(1, round + 5000);
      get_on(2, round + 6001);
    }
    wait_and_launch_behind(20'000);
  }
};

TEST_F(Waits, WhoGetsPastTwoOfThemIsApart) {
  pass_two_and_wait();
  EXPECT_TRUE(busy());
}

TEST_F(Waits, OnePlaceCountsOnce) {
  wait_and_launch_behind(0);
  get_on(2, 6000);
  look_twice();
  get_on(2, 6001);
  look_twice();
  compute_up_to(2, {6002});
  EXPECT_TRUE(uncertain());
}

TEST_F(Waits, AGraphMayComputeBeforeItsWait) {
  pass_two_and_wait(InGraph::somewhere);
  EXPECT_TRUE(uncertain());
}

}  // namespace
}  // namespace weft
