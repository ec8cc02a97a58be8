// The legacy default stream and blocking streams wait for each other without a call that says so.
#include "streams_fixture.h"

namespace weft {
namespace {

class DefaultStreams : public StreamsTest {
 protected:
  void SetUp() override {
    streams.set_order(legacy, StreamOrder::legacy);
    streams.set_order(transfer, StreamOrder::blocking);
  }
  static constexpr StreamId legacy = 1, transfer = 2, other = 3, free = 4;
};

// Something was launched ahead of its marker, and would run.
TEST_F(DefaultStreams, TheLegacyOneIsHeldUpByABlockingOneInAGroup) {
  issue(1, transfer);
  mark(legacy, 3001, false);
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 1u);
  EXPECT_EQ(pattern(), Pattern::event_wait);
  streams.group_done(1);
  EXPECT_TRUE(busy());
}

TEST_F(DefaultStreams, ABlockingOneIsHeldUpByTheLegacyOneInAGroup) {
  issue(1, legacy);
  streams.set_order(other, StreamOrder::blocking);
  mark(other, 3001, false);
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 1u);
}

TEST_F(DefaultStreams, WhatHasAnsweredThatItIsBusyIsHeldUpToo) {
  issue(1, transfer);
  streams.group_started(1);
  streams.verdict();
  streams.answered(legacy, {StreamAnswer::busy, 1002});
  EXPECT_EQ(idle_for(), 1u);
  streams.group_done(1);
  EXPECT_TRUE(busy());
}

TEST_F(DefaultStreams, AStreamThatDoesNotBlockIsNotHeldUp) {
  issue(1, transfer);
  mark(free, 3001, false);
  streams.group_started(1);
  EXPECT_TRUE(busy());
}

TEST_F(DefaultStreams, WhoWaitsForOneThatIsHeldUpWaitsForWhatHoldsItUp) {
  issue(1, transfer);
  mark(legacy, 3001, false);
  wait(free, {legacy, 3001}, 3002, 3003, true);
  streams.group_started(1);
  EXPECT_TRUE(streams.marker_reached(free, 3002));
  EXPECT_EQ(idle_for(), 1u);
}

// The legacy stream waits for compute, so the blocking one does as well.
TEST_F(DefaultStreams, AWaitHoldsUpTheOtherKindAsLongAsThatForWhichItIsRuns) {
  issue(1, free);
  issue(2, transfer);
  wait_for_group(legacy, 1, 1);
  streams.set_order(other, StreamOrder::blocking);
  mark(other, 3005, false);
  streams.group_started(1);
  at_wait(legacy, 1);
  EXPECT_EQ(idle_for(), 1u);
}

// Next to a capture nobody can be asked.
TEST_F(DefaultStreams, ABlockingOneNextToAnotherInAGroupIsUncertainWhereTheLegacyOneCannotBeAsked) {
  issue(1, transfer);
  streams.set_order(other, StreamOrder::blocking);
  mark(other, 3001, false);
  streams.group_started(1);
  answer(StreamAnswer::unknown, {legacy});
  EXPECT_TRUE(uncertain());
}

TEST_F(DefaultStreams, WhoWaitsForOneThatCannotBeAskedWaitsForWhatHoldsThatUp) {
  issue(1, transfer);
  run(1);
  wait(free, {transfer, 2001}, 3002, 3003, true);
  issue(2, legacy);
  streams.group_started(2);
  EXPECT_TRUE(streams.marker_reached(free, 3002));
  answer(StreamAnswer::unknown, {transfer});
  EXPECT_EQ(idle_for(), 2u);
}

TEST_F(DefaultStreams, ABlockingOneNextToAnotherInAGroupIsUncertainWhereTheLegacyOneMayStandBetween) {
  issue(1, transfer);
  streams.set_order(other, StreamOrder::blocking);
  mark(other, 3001, false);
  streams.group_started(1);
  EXPECT_TRUE(busy());
  EXPECT_TRUE(streams.wants_answers()) << "the legacy stream may have something to compute";
  streams.answered(legacy, {StreamAnswer::busy, 1002});
  EXPECT_TRUE(uncertain());
  streams.answered(legacy, {StreamAnswer::dry, 1});
  EXPECT_TRUE(busy());
}

// It is over, or the group would not have been reached.
TEST_F(DefaultStreams, WorkThatWasLaunchedBeforeTheGroupIsOver) {
  streams.set_order(other, StreamOrder::blocking);
  issue(1, transfer);
  mark(other, 3001, false);
  streams.group_started(1);
  EXPECT_TRUE(busy());
  streams.answered(legacy, {StreamAnswer::busy, 1000});
  EXPECT_TRUE(busy());
  streams.answered(legacy, {StreamAnswer::busy, 1003});
  EXPECT_TRUE(uncertain());
}

// Nobody can ask it, and it has no mark behind its work.
TEST_F(DefaultStreams, AnAbandonedStreamIsUncertainUntilTheLegacyOneTellsThatItIsOver) {
  const auto abandon = [this](Ticket newest) {
    streams.set_order(7, StreamOrder::blocking);
    streams.stream_abandoned(7, newest);
    answer(StreamAnswer::dry, {legacy, transfer});
  };
  const auto asked = [this](StreamAnswer says) { streams.answered(legacy, {says, 1000, 0, StreamOrder::legacy}); };
  issue(1, free);
  streams.group_started(1);
  answer(StreamAnswer::dry, {legacy, transfer});
  EXPECT_EQ(idle_for(), 1u);
  abandon(3000);
  EXPECT_TRUE(uncertain()) << "the legacy stream has had nothing, so it was not asked";
  asked(StreamAnswer::busy);
  EXPECT_TRUE(busy()) << "as it says";
  asked(StreamAnswer::dry);
  EXPECT_EQ(idle_for(), 1u);

  abandon(3000);
  mark(legacy, 3000, true);
  EXPECT_TRUE(streams.marker_reached(legacy, 3000));
  answer(StreamAnswer::dry, {legacy, transfer});
  EXPECT_TRUE(uncertain()) << "that may stand ahead of its work";
  mark(legacy, 3001, true);
  EXPECT_TRUE(streams.marker_reached(legacy, 3001));
  answer(StreamAnswer::dry, {legacy, transfer});
  EXPECT_EQ(idle_for(), 1u);

  abandon(4000);
  mark(other, 4001, false);
  EXPECT_TRUE(busy()) << "another one runs";
  EXPECT_TRUE(streams.marker_reached(other, 4001));
  answer(StreamAnswer::dry, {legacy, transfer, other});
  EXPECT_TRUE(uncertain());
  streams.stream_destroyed(legacy);  // with its context
  EXPECT_EQ(idle_for(), 1u);
}

// The legacy stream answers for the other one, too, whose kernel stands behind its copy.
TEST_F(DefaultStreams, TheLegacyOneIsNotBusyForABlockingOneThatCopies) {
  issue(1, free);
  streams.group_started(1);
  streams.set_order(other, StreamOrder::blocking);
  mark(other, 3001, true);
  streams.verdict();
  streams.answered(legacy, {StreamAnswer::busy, 1000, 0, StreamOrder::legacy});
  EXPECT_TRUE(uncertain());
  EXPECT_TRUE(streams.marker_reached(other, 3001));
  streams.answered(other, {StreamAnswer::dry, 1000});
  EXPECT_TRUE(busy());
}

// Most programs have no blocking streams, which would have to be asked all the time.
TEST_F(DefaultStreams, BlockingOnesThatNobodyKnowsAreNotAskedForForEver) {
  streams.stream_destroyed(transfer);
  issue(1, legacy);
  mark(free, 3001, false);
  streams.group_started(1);
  int looks = 0;
  for (; looks < 2000 && (streams.verdict(), streams.wants_answers()); ++looks) streams.looked();
  EXPECT_EQ(looks, 1024);
  streams.set_order(other, StreamOrder::blocking);
  streams.verdict();
  EXPECT_TRUE(streams.wants_answers()) << "there is one";
}

// An event that is recorded there stands between them as well.
TEST_F(DefaultStreams, WhatHasNoMarkOnTheLegacyOneStandsBetween) {
  streams.set_order(other, StreamOrder::blocking);
  issue(1, transfer);
  mark(other, 3001, false);
  streams.legacy_used(1000);
  streams.group_started(1);
  EXPECT_TRUE(busy()) << "it was there before the group";
  streams.legacy_used(3001);
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  EXPECT_TRUE(busy());
}

// A launch that CUDA holds up is the head of its hardware queue.
TEST_F(DefaultStreams, WhatMayStandBehindOneThatIsHeldUpIsUncertain) {
  issue(1, transfer);
  mark(legacy, 3001, false);
  mark(free, 3002, false);
  streams.group_started(1);
  EXPECT_TRUE(uncertain());
  streams.group_done(1);
  EXPECT_TRUE(busy());
}

TEST_F(DefaultStreams, WhereSeveralThreadsLaunchTheOrderIsNotKnown) {
  issue(1, transfer);
  mark(legacy, 3001, false);
  streams.order_is_unsure();
  streams.group_started(1);
  EXPECT_TRUE(uncertain());
}

TEST_F(DefaultStreams, AStreamThatDoesNotBlockRunsWhereTheLegacyOneHasNothingThatIsHeldUp) {
  issue(1, transfer);
  streams.group_started(1);
  mark(free, 3003, false);
  EXPECT_TRUE(busy());
  EXPECT_TRUE(streams.wants_answers()) << "it may stand in the same hardware queue";
  streams.answered(legacy, {StreamAnswer::busy, 3002});
  EXPECT_TRUE(uncertain());
  streams.answered(legacy, {StreamAnswer::dry, 1});
  EXPECT_TRUE(busy());
}

}  // namespace
}  // namespace weft
