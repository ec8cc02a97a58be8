// Whether bubbles have room for a fill job with variants.
#include "runner/policy/bubble_room.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using namespace std::chrono_literals;

// One that has a smaller variant, and a better one that bubbles refused.
RoomWish wish() {
  RoomWish made;
  made.has_smaller = true;
  made.iterations = 3;
  made.better = 10ms;
  return made;
}

TEST(RoomWatch, FindsNoRoomAfterManyIterationsInARow) {
  RoomWatch watch(wish());
  for (std::uint64_t iteration = 1; iteration <= 3; ++iteration)
    for (int bubble = 0; bubble < 5; ++bubble) {
      watch.note_present({iteration, true, false}, 7ms);
      EXPECT_EQ(watch.finding(), RoomFinding::none) << "the third is not over";
    }
  watch.note_present({4, true, false}, 8ms);
  EXPECT_EQ(watch.finding(), RoomFinding::no_room);
  EXPECT_EQ(watch.refused(), Duration(8ms));
}

TEST(RoomWatch, OneBubbleWithRoomIsEnough) {
  RoomWatch watch(wish());
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) {
    watch.note_present({iteration, true, false}, 7ms);
    if (iteration % 3 == 0) watch.note_present({iteration, true, true}, 7ms);
    watch.note_present({iteration, true, false}, 7ms);
    EXPECT_EQ(watch.finding(), RoomFinding::none) << iteration;
  }
}

TEST(RoomWatch, RoomInTheIterationThatIsUnderWayCounts) {
  RoomWatch watch(wish());
  for (std::uint64_t iteration = 1; iteration <= 4; ++iteration) watch.note_present({iteration, true, false}, 7ms);
  ASSERT_EQ(watch.finding(), RoomFinding::no_room);
  watch.note_present({4, true, true}, 7ms);
  EXPECT_EQ(watch.finding(), RoomFinding::none);
}

TEST(RoomWatch, BubblesThatSayNothingAreNotCounted) {
  RoomWatch watch(wish());
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) watch.note_present({iteration, false, false}, 7ms);
  EXPECT_EQ(watch.finding(), RoomFinding::none);
}

TEST(RoomWatch, WithoutASmallerVariantThereIsNothingToFind) {
  RoomWish none = wish();
  none.has_smaller = false;
  RoomWatch watch(none);
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) watch.note_present({iteration, true, false}, 7ms);
  EXPECT_EQ(watch.finding(), RoomFinding::none);
}

TEST(RoomWatch, FindsRoomForABetterOneInIterationsInARow) {
  RoomWatch watch(wish());
  const auto with = [&](std::uint64_t iteration, bool has_room) { watch.note_better({iteration, true, has_room}); };
  with(1, true);
  with(2, false);
  with(3, true);
  with(4, true);
  with(5, true);
  EXPECT_EQ(watch.finding(), RoomFinding::none) << "of the three the last is not over";
  with(6, false);
  EXPECT_EQ(watch.finding(), RoomFinding::room_for_better);
  with(7, false);
  EXPECT_EQ(watch.finding(), RoomFinding::none) << "no longer";
}

TEST(RoomWatch, WithoutABetterOneThatWasRefusedThereIsNoneToComeBack) {
  RoomWatch watch;
  EXPECT_FALSE(watch.wish().wants_any());
  for (std::uint64_t iteration = 1; iteration <= 20; ++iteration) watch.note_better({iteration, true, true});
  EXPECT_EQ(watch.finding(), RoomFinding::none);
}

}  // namespace
}  // namespace weft
