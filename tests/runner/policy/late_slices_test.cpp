// When a slice counts as late, how long filling then pauses, and when it ends.
#include "runner/policy/late_slices.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;
using Change = LateSlices::Change;

constexpr TimePoint start{std::chrono::seconds(1)};

InFlight one_since(TimePoint launched) {
  InFlight in_flight;
  in_flight.slices = 1;
  in_flight.oldest_launched = launched;
  in_flight.oldest_alone = 100us;
  return in_flight;
}

// The change that a slice launched at `launched` leads to when it is watched for `time`.
Change watch(LateSlices& late, TimePoint launched, Duration time, bool in_bubble = true, Duration step = 50us) {
  for (TimePoint now = launched; now <= launched + time; now += step) {
    const Change change = late.look(now, in_bubble, one_since(launched));
    if (change != Change::none) return change;
  }
  return Change::none;
}

TEST(LateSlices, InABubbleASliceIsLateAfterTenTimesItsLengthAndTwentyMilliseconds) {
  LateSlices late;
  EXPECT_EQ(watch(late, start, 21ms), Change::none);
  EXPECT_EQ(watch(late, start + 21ms, 100us), Change::paused);
  EXPECT_TRUE(late.paused());
}

TEST(LateSlices, OutsideBubblesASliceMayWaitForTheMainJob) {
  LateSlices late;
  EXPECT_EQ(watch(late, start, 1900ms, false, 500us), Change::none);
  EXPECT_EQ(watch(late, start + 1900ms, 200ms, false, 500us), Change::paused);
}

// It gets multiprocessors only now: that it had to wait for them until now does not count.
TEST(LateSlices, TimeOutsideBubblesDoesNotCountInThem) {
  LateSlices late;
  EXPECT_EQ(watch(late, start, 500ms, false, 500us), Change::none);
  TimePoint now = start + 500ms;
  const InFlight slice = one_since(start);
  for (; now < start + 515ms; now += 50us) ASSERT_EQ(late.look(now, true, slice), Change::none);
  Change change = Change::none;
  for (; now < start + 530ms && change == Change::none; now += 50us) change = late.look(now, true, slice);
  EXPECT_EQ(change, Change::paused);
}

TEST(LateSlices, AnOversleptLookIsNoLateSlice) {
  LateSlices late;
  EXPECT_EQ(late.look(start, true, one_since(start)), Change::none);
  EXPECT_EQ(late.look(start + 500ms, true, one_since(start)), Change::none);
}

TEST(LateSlices, TheRestBeginsWithTheEndOfTheLateSliceAndGrows) {
  LateSlices late;
  TimePoint now = start;
  for (const Duration rest : {Duration(1s), Duration(8s), Duration(64s)}) {
    ASSERT_EQ(watch(late, now, 30ms), Change::paused);
    EXPECT_EQ(late.rest(), rest);
    now += 30ms;
    late.finished(now);
    EXPECT_EQ(late.look(now + rest - 1us, true, {}), Change::none);
    EXPECT_TRUE(late.paused());
    EXPECT_EQ(late.look(now + rest, true, {}), Change::resumed);
    EXPECT_FALSE(late.paused());
    EXPECT_TRUE(late.careful());
    now += rest + 1ms;
  }
  EXPECT_EQ(watch(late, now, 30ms), Change::stop);
}

TEST(LateSlices, CareEndsAfterAHundredSlicesInTime) {
  LateSlices late;
  ASSERT_EQ(watch(late, start, 30ms), Change::paused);
  late.finished(start + 30ms);
  ASSERT_EQ(late.look(start + 2s, true, {}), Change::resumed);
  for (int slice = 0; slice < 99; ++slice) late.finished(start + 2s);
  EXPECT_TRUE(late.careful());
  late.finished(start + 2s);
  EXPECT_FALSE(late.careful());
}

TEST(LateSlices, PausesThatLieFarBackNoLongerCount) {
  LateSlices late;
  TimePoint now = start;
  for (int day = 0; day < 20; ++day) {
    ASSERT_EQ(watch(late, now, 30ms), Change::paused) << day;
    EXPECT_EQ(late.pauses(), 1U);
    late.finished(now + 30ms);
    ASSERT_EQ(late.look(now + 2s, true, {}), Change::resumed);
    now += 11min;
    late.look(now, true, {});
  }
}

TEST(LateSlices, ASliceThatNeverEndsIsTheEnd) {
  LateSlices late;
  ASSERT_EQ(watch(late, start, 30ms), Change::paused);
  EXPECT_EQ(watch(late, start + 30ms, 31s, true, 500us), Change::stop);
}

// With one hardware queue: 100 us alone, so 1.3 ms are in time.
Change watch_in_one_queue(LateSlices& late, TimePoint launched, Duration time, bool in_bubble = true,
                          SliceQueue queue = SliceQueue::only) {
  for (TimePoint now = launched; now <= launched + time; now += 50us) {
    const Change change = late.look(now, in_bubble, one_since(launched), queue);
    if (change != Change::none) return change;
  }
  late.finished(launched + time);
  return late.look(launched + time, false, {}, queue);
}

TEST(LateSlices, ThreeInARowThatOutlastTheirBubbleEndFillingInOneQueue) {
  LateSlices late;
  TimePoint now = start;
  for (int slice = 0; slice < 2; ++slice, now += 100ms) EXPECT_EQ(watch_in_one_queue(late, now, 2ms), Change::none);
  EXPECT_EQ(watch_in_one_queue(late, now, 500us), Change::none) << "in time";
  for (int slice = 0; slice < 2; ++slice) EXPECT_EQ(watch_in_one_queue(late, now += 100ms, 2ms), Change::none);
  EXPECT_EQ(watch_in_one_queue(late, now += 100ms, 2ms, false), Change::held_up) << "its bubble was over before it";
}

// Outside bubbles it waits for multiprocessors, as with several queues.
TEST(LateSlices, ThreeInARowThatDoNotGetOnInTheirBubbleEndFillingInAQueueOfItsOwn) {
  LateSlices late;
  TimePoint now = start;
  for (int slice = 0; slice < 5; ++slice, now += 100ms)
    EXPECT_EQ(watch_in_one_queue(late, now, 2ms, false, SliceQueue::own), Change::none);
  for (int slice = 0; slice < 2; ++slice, now += 100ms)
    EXPECT_EQ(watch_in_one_queue(late, now, 2ms, true, SliceQueue::own), Change::none);
  EXPECT_EQ(watch_in_one_queue(late, now, 2ms, true, SliceQueue::own), Change::held_up);
  LateSlices several;
  for (int slice = 0; slice < 5; ++slice, now += 100ms)
    EXPECT_EQ(watch_in_one_queue(several, now, 2ms, true, SliceQueue::several), Change::none);
}

TEST(LateSlices, LaunchesThatStandUntilTheHostHasWaitedEndFillingInOneQueue) {
  LateSlices late;
  for (int slice = 0; slice < 3; ++slice) {
    EXPECT_EQ(late.look(start, true, {}, SliceQueue::only), Change::none);
    late.launched(100us, slice == 0 ? 5ms : 2ms);
    late.finished(start);
  }
  EXPECT_EQ(late.look(start, true, {}, SliceQueue::only), Change::held_up);
  EXPECT_EQ(LateSlices().look(start, true, {}, SliceQueue::only), Change::none);
}

TEST(LateSlices, WithMoreQueuesNothingIsHeldUp) {
  LateSlices late;
  for (int slice = 0; slice < 5; ++slice) {
    late.launched(100us, 5ms);
    late.finished(start);
  }
  EXPECT_EQ(late.look(start, true, {}), Change::none);
}

}  // namespace
}  // namespace weft
