// How far streams have got, chains of waits, answers, and the limits of the tables; patterns are tested by scripts and
// pipelines, exactness by random programs.
#include "detector/streams.h"

#include <gtest/gtest.h>

#include "streams_fixture.h"

namespace weft {
namespace {

// A context waits for a receive: nobody knows which streams may run.
TEST_F(StreamsTest, WhatIsLaunchedBehindAWaitOfTheContextMayBeHeldUp) {
  issue(1, 2);
  streams.group_started(1);
  Event event{};
  event.kind = EventKind::context_waits;
  event.awaited = {2, 2001};
  event.ticket = 3000;
  streams.context_waits(event);
  wait_for_group(3, 1, 2);
  at_wait(3, 2);
  answer(StreamAnswer::dry, {2, 3});
  EXPECT_EQ(idle_for(), 1u) << "nothing else is there";
  streams.verdict();
  streams.answered(7, {StreamAnswer::busy, 2999});
  EXPECT_TRUE(busy()) << "launched before the wait";
  streams.answered(7, {StreamAnswer::busy, 3500});
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  past_wait(3, 2);
  issue(2, 2);
  streams.group_started(2);
  answer(StreamAnswer::dry, {3});
  streams.answered(7, {StreamAnswer::busy, 3500});
  EXPECT_TRUE(busy()) << "the wait is over";
}

// Recorded on a context with several receives: it stands for all of them.
TEST_F(StreamsTest, AWaitForEveryStreamIsUncertainUntilItIsPassed) {
  issue(1, 2);
  issue(2, 3);
  streams.group_started(1);
  streams.group_started(2);
  wait(1, {every_stream, 2002}, 3001, 4001);
  at_wait(1, 1);
  answer(StreamAnswer::dry, {2, 3});
  EXPECT_TRUE(uncertain());
  streams.answered(7, {StreamAnswer::busy, 100});
  EXPECT_TRUE(busy()) << "another stream computes";
  streams.answered(7, {StreamAnswer::dry, 100});
  streams.group_done(1);
  EXPECT_FALSE(busy()) << "the second receive still holds it up";
  streams.group_done(2);
  past_wait(1, 1);
  EXPECT_TRUE(busy());
}

// So much is outstanding that what comes next has no marks.
TEST_F(StreamsTest, BehindWhatIsKnownAStreamIsOutOfSightUntilItGetsToTheNextMark) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  streams.group_started(1);
  at_wait(1, 1);
  streams.marks_held_back(2, 5000, false);
  streams.marks_held_back(2, 5001, false);
  EXPECT_EQ(idle_for(), 1u) << "it is still in the group";
  issue(2, 2);
  streams.group_done(1);
  past_wait(1, 1);
  answer(StreamAnswer::dry, {1});
  EXPECT_TRUE(uncertain()) << "it may be in a group without marks";
  answer(StreamAnswer::busy, {1});
  EXPECT_TRUE(busy());
  streams.group_started(2);
  answer(StreamAnswer::dry, {1});
  EXPECT_EQ(idle_for(), 2u);
}
TEST_F(StreamsTest, AStreamThatIsOutOfSightIsAskedAndComesBackWhenItIsDry) {
  issue(1, 3);
  streams.group_started(1);
  streams.marks_held_back(2, 5000, false);
  EXPECT_TRUE(uncertain());
  answer(StreamAnswer::dry, {2, 3});
  EXPECT_EQ(idle_for(), 1u);
}
TEST_F(StreamsTest, AStreamThatIsOutOfSightMayBeDestroyed) {
  issue(1, 3);
  streams.group_started(1);
  streams.marks_held_back(2, 5000, false);
  streams.stream_destroyed(2);
  EXPECT_EQ(idle_for(), 1u);
}

TEST_F(StreamsTest, AChainOfWaitsEndsInTheGroupThatHoldsItUp) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  wait_for_wait(4, 1, 1, 2);
  wait_for_wait(5, 4, 2, 3);
  streams.group_started(1);
  at_wait(4, 2);
  at_wait(5, 3);
  EXPECT_TRUE(busy()) << "stream 1 has not got to its wait";
  at_wait(1, 1);
  EXPECT_EQ(idle_for(), 1u);
  EXPECT_EQ(pattern(), Pattern::event_wait);
  streams.group_done(1);
  EXPECT_TRUE(busy()) << "the waits are about to be passed";
  past_wait(1, 1);
  past_wait(4, 2);
  EXPECT_TRUE(busy()) << "nothing is under way any more";
}

TEST_F(StreamsTest, AChainThatEndsInAStreamThatRunsIsNoBubble) {
  issue(1, 2);
  wait_for_group(3, 1, 1);
  issue(2, 6);
  wait_for_wait(4, 3, 1, 2);
  streams.group_started(2);
  run(1);
  past_wait(3, 1);
  at_wait(4, 2);
  // Stream 3 has no mark ahead, but somebody waits for it.
  answer(StreamAnswer::dry, {2, 3});
  EXPECT_TRUE(busy());
  past_wait(4, 2);
  EXPECT_TRUE(uncertain()) << "stream 4 has not been asked";
  answer(StreamAnswer::dry, {4});
  EXPECT_EQ(idle_for(), 2u);
}

TEST_F(StreamsTest, AWaitIsNotOverWhenItsGroupIs) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  at_wait(1, 1);
  streams.group_started(1);
  issue(2, 7);
  streams.group_started(2);
  streams.group_done(1);
  answer(StreamAnswer::dry, {2});
  EXPECT_TRUE(busy()) << "stream 2 has work behind the group that stream 1 waits for";
}

// Where no mark could be put behind the wait it ends with the group.
TEST_F(StreamsTest, AWaitWithoutAMarkBehindItEndsWithTheGroup) {
  issue(1, 2);
  wait(1, {2, 2001}, 3001, 0);
  streams.group_started(1);
  at_wait(1, 1);
  EXPECT_EQ(idle_for(), 1u);
  issue(2, 7);
  streams.group_started(2);
  streams.group_done(1);
  EXPECT_TRUE(uncertain()) << "stream 1 may run";
}

// Its hardware queue is blocked by another stream, so that its marks are not written, but it has nothing to compute.
TEST_F(StreamsTest, AStreamWithoutAnythingLaunchedBeforeItsNextMarkIsStill) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  wait(4, {1, 4001}, 3002, 4002, true);
  streams.group_started(1);
  at_wait(1, 1);
  EXPECT_EQ(idle_for(), 1u) << "stream 4 is held ahead of its wait";
  wait(5, {4, 4002}, 3003, 4003, true);
  EXPECT_EQ(idle_for(), 1u) << "and so is stream 5";
  wait(6, {4, 4002}, 3000, 4004, false);
  EXPECT_TRUE(busy()) << "stream 6 has something to compute first";
}

// Stream 4 waits for what stream 2 has behind its group, which has no mark. Stream 3 waits as well.
class AWaitForWhatMayStandInAHardwareQueue : public StreamsTest {
 protected:
  void SetUp() override {
    issue(1, 2);
    wait_for_group(4, 1, 1);
    issue(2, 5);
    run(1);
    wait_for_group(3, 2, 2);
    streams.group_started(2);
    at_wait(4, 1);
    at_wait(3, 2);
    EXPECT_TRUE(busy());
  }
};

TEST_F(AWaitForWhatMayStandInAHardwareQueue, IsUncertainWhereNothingThatComputesIsLeft) {
  answer(StreamAnswer::dry, {2});
  EXPECT_TRUE(uncertain());
}

TEST_F(AWaitForWhatMayStandInAHardwareQueue, IsUncertainWhereNobodyCanBeAsked) {
  answer(StreamAnswer::unknown, {2});
  EXPECT_TRUE(uncertain());
}

// Work that was enqueued after a wait that lasts runs only in another hardware queue.
TEST_F(StreamsTest, WorkBehindABlockedStreamIsUncertainUntilTheTwoWereSeenApart) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  streams.group_started(1);
  at_wait(1, 1);
  sixth_says(StreamAnswer::busy, 3001);
  EXPECT_TRUE(busy()) << "launched before";
  sixth_says(StreamAnswer::busy, 3002);
  EXPECT_TRUE(uncertain());
  EXPECT_TRUE(streams.wants_answers());
  sixth_says(StreamAnswer::busy, 0);
  EXPECT_TRUE(uncertain()) << "nobody knows when";
  for (Ticket launched = 3002; launched < 3010; ++launched) {
    sixth_says(StreamAnswer::dry, launched);
    streams.looked();
    streams.looked();
  }
  sixth_says(StreamAnswer::busy, 3010);
  EXPECT_TRUE(uncertain()) << "dry because the launch that is counted was not made yet";
  const auto gets_through = [&](Ticket launched_before, GroupId group = 1) {
    sixth_says(StreamAnswer::busy, launched_before);
    sixth_says(StreamAnswer::dry, launched_before);
    EXPECT_EQ(idle_for(), group);
    streams.looked();
    sixth_says(StreamAnswer::busy, launched_before + 1);
    EXPECT_TRUE(uncertain()) << "the wait may have been over before the answer";
    streams.looked();
  };
  gets_through(4004);
  EXPECT_TRUE(uncertain()) << "nothing was launched behind the wait that would hold up the queue";
  wait_and_launch(1, 1, 4010);
  gets_through(4012);
  EXPECT_TRUE(uncertain()) << "right behind the wait: what will hold up the queue may not be launched yet";
  gets_through(4013);
  gets_through(4015);
  EXPECT_TRUE(uncertain()) << "one wait shows it once";
  block_again(2, 5010);
  gets_through(5013, 2);
  EXPECT_TRUE(busy());
}

TEST_F(StreamsTest, AMarkBehindABlockedStreamShowsThatTheTwoAreApart) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  wait_and_launch(1, 1, 4010);
  streams.group_started(1);
  at_wait(1, 1);
  const auto gets_through = [&](Ticket ticket) {
    wait(6, {2, static_cast<Ticket>(2000 + 100)}, ticket, ticket + 1);
    EXPECT_TRUE(uncertain());
    EXPECT_TRUE(streams.marker_reached(6, ticket));
    streams.looked();
    streams.looked();
    EXPECT_TRUE(streams.marker_reached(6, ticket + 1));
  };
  gets_through(4020);
  block_again(2, 5010);
  gets_through(5020);
  mark(6, 5030, false);
  EXPECT_TRUE(busy());
}

// Stream 6 is dry only while stream 1 computes.
TEST_F(StreamsTest, WhereAStreamWasDoubtfulItIsAskedWhileAnotherComputes) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  streams.launch_noted(1, 4001);
  streams.group_started(1);
  at_wait(1, 1);
  sixth_says(StreamAnswer::busy, 4003);
  EXPECT_TRUE(uncertain());
  for (int looks = 0; looks < 8; ++looks) streams.looked();
  const auto gets_through = [&](Ticket launched_before) {
    streams.verdict();
    streams.answered(3, {StreamAnswer::busy, 2000});
    EXPECT_TRUE(busy()) << "stream 3 was launched on before";
    EXPECT_TRUE(streams.wants_answers());
    sixth_says(StreamAnswer::busy, launched_before);
    sixth_says(StreamAnswer::dry, launched_before);
    streams.looked();
    streams.looked();
  };
  gets_through(4009);
  block_again(2, 5010);
  gets_through(5019);
  answer(StreamAnswer::dry, {3});
  sixth_says(StreamAnswer::busy, 6000);
  EXPECT_TRUE(busy());
}

TEST_F(StreamsTest, NobodyIsAskedWhileComputeRunsForLongerThanThereWasDoubt) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  streams.launch_noted(1, 4001);
  streams.group_started(1);
  at_wait(1, 1);
  streams.verdict();
  streams.answered(6, {StreamAnswer::busy, 4003});
  EXPECT_TRUE(uncertain());
  for (int looks = 0; looks < 5; ++looks) streams.looked();
  wait(7, {2, 2001}, 2500, 2501);
  for (int looks = 0; looks < 5; ++looks) {
    EXPECT_TRUE(busy()) << "stream 7 has something to compute ahead of its wait";
    EXPECT_EQ(streams.answer_of(9), std::nullopt);
    EXPECT_TRUE(streams.wants_answers());
    streams.looked();
  }
  EXPECT_TRUE(busy());
  EXPECT_FALSE(streams.wants_answers());
}

// The wait alone may not hold up the queue.
TEST_F(StreamsTest, AMarkBetweenAWaitAndItsFirstKernelShowsNothing) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  streams.group_started(1);
  at_wait(1, 1);
  for (Ticket number = 2000; number < 2010; ++number) {
    wait_for_wait(6, 1, 1, number);
    if (number > 2000) wait(1, {2, 2001}, 3000 + number, 4000 + number, true);
    EXPECT_TRUE(uncertain()) << number;
    at_wait(6, number);
    streams.looked();
    streams.looked();
    past_wait(6, number);
  }
}

TEST_F(StreamsTest, WhatWaitsForWorkThatMayStandBehindABlockedStreamIsUncertain) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  wait_for_wait(6, 1, 1, 2);
  wait(7, {6, 4002}, 3003, 4003, true);
  streams.group_started(1);
  at_wait(1, 1);
  at_wait(7, 3);
  EXPECT_TRUE(uncertain()) << "stream 6 has something to compute before its wait, if it gets to that";
}

TEST_F(StreamsTest, AGroupThatIsHeldIsNotUnderWay) {
  issue(1, 2);
  groups.find(1)->nothing_launched = true;
  Group held = *groups.find(1);
  held.id = 2;
  held.stream = 3;
  held.done_ticket = 2002;
  groups.insert(held);
  streams.group_issued(held, 1002);
  EXPECT_EQ(idle_for(), 0u);
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 1u);
}

TEST_F(StreamsTest, AWaitForWhatIsNotKnownIsUncertain) {
  issue(1, 2);
  streams.group_started(1);
  wait(1, {0, 77}, 3001, 4001);
  at_wait(1, 1);
  EXPECT_EQ(idle_for(), 1u) << "stream 1 does not compute, whatever it waits for";
  streams.group_done(1);
  answer(StreamAnswer::dry, {2});
  EXPECT_TRUE(uncertain()) << "it may be communication";
  for (Ticket number = 0; number < 300; ++number) wait(7, {0, 77}, 5000 + 2 * number, 5001 + 2 * number, true);
  past_wait(1, 1);
  answer(StreamAnswer::dry, {1, 2});
  EXPECT_FALSE(uncertain()) << "nothing is under way";
}

TEST_F(StreamsTest, AnswersCountUntilSomethingRunsForSure) {
  issue(1, 2);
  streams.group_started(1);
  EXPECT_TRUE(streams.wants_answers() || (streams.verdict(), streams.wants_answers()));
  answer(StreamAnswer::busy, {1});
  EXPECT_EQ(streams.answer_of(1)->says, StreamAnswer::busy);
  EXPECT_TRUE(busy());
  answer(StreamAnswer::dry, {1});
  EXPECT_EQ(idle_for(), 1u);
  issue(2, 1);
  EXPECT_EQ(idle_for(), 1u) << "a stream that was dry has got to a new mark, until it says that it is not";
  answer(StreamAnswer::busy, {1});
  EXPECT_TRUE(busy()) << "a mark ahead";
  EXPECT_FALSE(streams.wants_answers());
  EXPECT_EQ(streams.answer_of(1), std::nullopt);
  run(2);
  EXPECT_TRUE(uncertain()) << "the old answer does not count";
  EXPECT_EQ(streams.answer_of(1)->says, StreamAnswer::none);
  std::vector<StreamId> to_ask;
  streams.to_ask(to_ask);
  EXPECT_EQ(to_ask, std::vector<StreamId>{1});
  answer(StreamAnswer::unknown, {1});
  EXPECT_TRUE(uncertain());
}

TEST_F(StreamsTest, StreamsThatCannotBeNamedMakeTheTimeUncertain) {
  issue(1, 2);
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 1u);
  answer(StreamAnswer::unknown, {0});
  EXPECT_EQ(streams.answer_of(0)->says, StreamAnswer::unknown);
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  EXPECT_TRUE(busy());
  issue(2, 2);
  streams.group_started(2);
  EXPECT_EQ(idle_for(), 2u) << "the next time they could be";
}

// The work of a stream that is destroyed goes on.
TEST_F(StreamsTest, ADestroyedStreamIsThereUntilItsMarksAreReached) {
  issue(1, 2);
  wait_for_group(1, 1, 1);
  wait_for_wait(4, 1, 1, 2);
  streams.stream_destroyed(1);
  streams.stream_destroyed(2);
  streams.group_started(1);
  at_wait(1, 1);
  at_wait(4, 2);
  EXPECT_EQ(idle_for(), 1u);
  streams.group_done(1);
  past_wait(1, 1);
  issue(2, 6);
  streams.group_started(2);
  past_wait(4, 2);
  answer(StreamAnswer::dry, {4});
  EXPECT_EQ(idle_for(), 2u) << "nobody has to ask streams 1 and 2";
}

// It may have waited, and it may not: a place behind which others may stand, and not one that shows that they do not.
TEST_F(StreamsTest, BehindALostMarkNoStreamIsSeenApart) {
  issue(1, 2);
  streams.group_started(1);
  streams.marks_held_back(1, 3000, false);
  for (int times = 0; times < 8; ++times) {
    streams.verdict();
    streams.answered(6, {StreamAnswer::busy, 4010});
    EXPECT_TRUE(uncertain());
    streams.answered(6, {StreamAnswer::dry, 4010});
    streams.looked();
    streams.looked();
  }
  wait_for_group(1, 1, 1);
  at_wait(1, 1);
  streams.verdict();
  streams.answered(6, {StreamAnswer::busy, 4010});
  EXPECT_TRUE(uncertain());
}

// A group on the compute stream itself; the first two only teach that nobody waits for them.
TEST_F(StreamsTest, AGroupThatOnlyItsOwnStreamWaitsForIsInline) {
  issue(1, 1);
  streams.group_started(1);
  EXPECT_EQ(pattern(), Pattern::posted_early);
  streams.group_done(1);
  issue(2, 1);
  run(2);
  issue(3, 1);
  streams.group_started(3);
  EXPECT_EQ(idle_for(), 3u);
  EXPECT_EQ(pattern(), Pattern::inline_group);
}

// PyTorch: receives on stream 2, a blocking all-reduce on the compute stream 1, whose end stream 2 waits for in turn.
TEST_F(StreamsTest, AComputeStreamWithAnOwnCollectiveStaysOne) {
  for (GroupId id = 1; id <= 8; ++id) {
    issue(id, 2);
    wait_for_group(1, id, static_cast<Ticket>(id));
    run(id);
    past_wait(1, static_cast<Ticket>(id));
  }
  issue(9, 1);
  wait_for_group(2, 9, 9);
  streams.group_started(9);
  at_wait(2, 9);
  EXPECT_EQ(idle_for(), 9u);
  streams.group_done(9);
  EXPECT_EQ(idle_for(), 0u);
}

// Megatron-LM: the send of one microbatch is still pending when the host waits for the next receive on the same stream.
TEST_F(StreamsTest, AReceiveExplainsMoreThanTheSendBeforeIt) {
  issue(1, 2, true);
  issue(2, 2);
  streams.host_wait_begun(0);
  EXPECT_TRUE(busy()) << "stream 2 has not got to its groups";
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 2u);
  EXPECT_EQ(pattern(), Pattern::host_wait);
  EXPECT_EQ(streams.verdict().idleness.stream, 0u) << "the host waits";
  streams.group_done(1);
  EXPECT_TRUE(busy()) << "there may be work between the two";
  streams.group_started(2);
  EXPECT_EQ(idle_for(), 2u);
  streams.group_done(2);
  streams.host_wait_ended(0);
  EXPECT_EQ(idle_for(), 0u);
}

TEST_F(StreamsTest, AHostWaitThatWasNeverBegunEndsAnotherOne) {
  issue(1, 2);
  streams.group_started(1);
  streams.host_wait_begun(7);
  streams.host_wait_ended(2);
  EXPECT_EQ(pattern(), Pattern::posted_early);
}

TEST_F(StreamsTest, MoreStreamsThanThereIsRoomForAreLost) {
  for (StreamId stream = 1; stream <= 8192; ++stream) streams.answered(stream, {StreamAnswer::dry});
  EXPECT_EQ(streams.dropped(), 0u);
  streams.answered(9000, {StreamAnswer::dry});
  EXPECT_EQ(streams.dropped(), 1u);
  streams.stream_destroyed(1);
  streams.answered(9000, {StreamAnswer::dry});
  EXPECT_EQ(streams.dropped(), 1u);
}

// A host that is so far ahead: where the stream is nobody knows, until it reaches a mark that has not been lost.
TEST_F(StreamsTest, AStreamWhoseNextMarksWereLostIsUncertain) {
  constexpr Ticket most = 32768;  // waits, of two marks each
  issue(1, 2);
  streams.group_started(1);
  const auto issue_wait = [&](Ticket number) { wait(1, {2, 2001}, 10'000 + 2 * number, 10'001 + 2 * number); };
  for (Ticket number = 0; number < most; ++number) issue_wait(number);
  EXPECT_TRUE(busy());
  EXPECT_EQ(streams.dropped(), 0u);
  issue_wait(most);
  EXPECT_EQ(streams.dropped(), 2u);
  EXPECT_TRUE(streams.marker_reached(1, 10'000)) << "it was lost, and that is known";
  EXPECT_TRUE(uncertain()) << "it may stand at the wait that was lost";
  EXPECT_TRUE(streams.marker_reached(1, 10'002));
  EXPECT_EQ(idle_for(), 1u);
}

TEST_F(StreamsTest, AStreamWhoseGroupWasForgottenIsUncertain) {
  issue(1, 2);
  streams.group_started(1);
  const GroupId later = 1 + 16384;
  ASSERT_NE(groups.displaced_by(later), nullptr);
  streams.lose_sight(*groups.displaced_by(later));
  issue(later, 3);
  streams.group_started(later);
  EXPECT_TRUE(uncertain());
  issue(later + 1, 2);
  streams.group_started(later + 1);
  EXPECT_NE(idle_for(), 0u);
}

TEST_F(StreamsTest, AStreamIsInSightAgainWhenItHasNothingLeft) {
  issue(1, 2);
  issue(2, 3);
  streams.group_started(1);
  streams.group_started(2);
  streams.lose_sight(*groups.find(1));
  EXPECT_TRUE(uncertain());
  answer(StreamAnswer::busy, {2});
  EXPECT_FALSE(idle_for() != 0);
  answer(StreamAnswer::dry, {2});
  EXPECT_EQ(idle_for(), 2u);
}

TEST_F(StreamsTest, ADestroyedStreamComputesUntilItsLastMarkerIsReached) {
  issue(1, 2);
  streams.group_started(1);
  answer(StreamAnswer::dry, {1});
  streams.stream_destroyed(7, 5000);  // it had launches only, and was not heard of
  EXPECT_TRUE(busy());
  EXPECT_TRUE(streams.marker_reached(7, 5000));
  answer(StreamAnswer::dry, {1});
  EXPECT_EQ(idle_for(), 1u);
}

TEST_F(StreamsTest, AWaitForSomethingUnknownIsUncertainAlsoWhenNoGroupIsUnderWay) {
  wait(1, {0, 0}, 10, 11);
  EXPECT_TRUE(busy());
  EXPECT_TRUE(streams.marker_reached(1, 10));
  EXPECT_TRUE(uncertain());
  EXPECT_TRUE(streams.marker_reached(1, 11));
  EXPECT_TRUE(busy());
}

TEST_F(StreamsTest, MoreHostWaitsThanThereIsRoomForAreLost) {
  for (int i = 0; i < 64; ++i) streams.host_wait_begun(1);
  EXPECT_EQ(streams.dropped(), 0u);
  streams.host_wait_begun(1);
  EXPECT_EQ(streams.dropped(), 1u);
}

}  // namespace
}  // namespace weft
