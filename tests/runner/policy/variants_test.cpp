// Which variant of a fill job is made ready.
#include "runner/policy/variants.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t MiB = 1 << 20;

TimePoint at(Duration time) {
  return TimePoint{time};
}

TEST(Variants, TheFirstIsBestWhileNothingIsKnown) {
  const Variants variants(3);
  EXPECT_EQ(variants.best(1), 0U);
  EXPECT_EQ(variants.best(0), std::nullopt) << "no memory at all";
}

TEST(Variants, OneThatLacksMemoryGivesWayAndSoDoBetterOnes) {
  Variants variants(3);
  variants.lacked_memory(1, 8 * MiB);
  EXPECT_EQ(variants.best(8 * MiB), 2U);
  EXPECT_EQ(variants.best(9 * MiB), 0U) << "more memory: not known";
  variants.lacked_memory(0, 16 * MiB);
  EXPECT_EQ(variants.best(16 * MiB), 1U);
  variants.lacked_memory(2, 4 * MiB);
  EXPECT_EQ(variants.best(4 * MiB), std::nullopt);
}

TEST(Variants, OneWithoutRoomInBubblesGivesWayToTheNextSmallerOne) {
  Variants variants(3);
  variants.began(at(0s));
  EXPECT_EQ(variants.change(0, 8 * MiB, at(1s)), std::nullopt);
  variants.had_no_room(0, 10ms);
  EXPECT_EQ(variants.change(0, 8 * MiB, at(1s)), 1U);
}

TEST(Variants, TheSmallestOfThoseThatFitStaysThoughBubblesRefuseIt) {
  Variants variants(2);
  variants.had_no_room(0, 10ms);
  variants.had_no_room(1, 5ms);
  EXPECT_EQ(variants.best(8 * MiB), 1U);
  EXPECT_EQ(variants.change(1, 8 * MiB, at(100s)), std::nullopt);
  EXPECT_TRUE(variants.has_smaller(0, 8 * MiB));
  EXPECT_FALSE(variants.has_smaller(1, 8 * MiB));
  variants.lacked_memory(1, 4 * MiB);
  EXPECT_FALSE(variants.has_smaller(0, 4 * MiB));
}

TEST(Variants, ABetterOneComesBackWithMemoryButNotAtOnce) {
  Variants variants(2);
  variants.lacked_memory(0, 8 * MiB);
  variants.began(at(10s));
  EXPECT_EQ(variants.change(1, 8 * MiB, at(100s)), std::nullopt) << "no more than before";
  EXPECT_EQ(variants.change(1, 16 * MiB, at(39s)), std::nullopt);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(40s)), 0U);
}

TEST(Variants, LessMemoryTakesNothingFromOneThatRuns) {
  Variants variants(2);
  variants.lacked_memory(0, 8 * MiB);
  EXPECT_EQ(variants.change(0, 4 * MiB, at(100s)), std::nullopt);
}

TEST(Variants, MemoryBringsNoneBackThatBubblesRefuse) {
  Variants variants(3);
  variants.lacked_memory(0, 8 * MiB);
  variants.had_no_room(1, 10ms);
  EXPECT_EQ(variants.change(2, 8 * MiB, at(100s)), std::nullopt);
  variants.had_no_room(0, 20ms);
  EXPECT_EQ(variants.change(2, 16 * MiB, at(100s)), std::nullopt);
}

TEST(Variants, OneThatBubblesRefusedComesBackWhenTheyHaveRoomForMore) {
  Variants variants(3);
  EXPECT_FALSE(variants.refused_before(2));
  variants.had_no_room(0, 20ms);
  variants.had_no_room(1, 8ms);
  const auto refused = variants.refused_before(2);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->variant, 1U) << "the nearest";
  EXPECT_EQ(refused->length, Duration(10ms)) << "a quarter more";
  variants.have_room(1);
  EXPECT_EQ(variants.change(2, 8 * MiB, at(100s)), 1U);
  EXPECT_EQ(variants.refused_before(1)->variant, 0U);
  EXPECT_FALSE(variants.refused_before(0));
}

// Memory that has become free brings a better one back, but not one that is larger than what bubbles refuse.
TEST(Variants, OneThatBubblesRefuseGivesWayToASmallerOneOnly) {
  Variants variants(3);
  variants.lacked_memory(0, 8 * MiB);
  variants.had_no_room(1, 8ms);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(100s)), 2U);
  variants.cannot_run(2);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(100s)), std::nullopt);
}

TEST(Variants, BubblesWithRoomForALongerSliceHaveItForAShorterOne) {
  Variants variants(3);
  variants.had_no_room(0, 8ms);
  variants.had_no_room(1, 5ms);
  variants.cannot_run(2);
  ASSERT_EQ(variants.best(8 * MiB), 1U);
  variants.heard(1, RoomFinding::room_for_better, {});
  EXPECT_FALSE(variants.is_refused(1));
  EXPECT_EQ(variants.change(1, 8 * MiB, at(100s)), 0U);
}

TEST(Variants, OneThatCannotBeMadeReadyIsOutForTheRun) {
  Variants variants(3);
  variants.cannot_run(1);
  variants.had_no_room(0, 8ms);
  EXPECT_EQ(variants.best(8 * MiB), 2U);
  EXPECT_EQ(variants.change(0, 8 * MiB, at(1s)), 2U);
  variants.cannot_run(2);
  EXPECT_EQ(variants.best(8 * MiB), 0U) << "the one that bubbles refused is left";
  EXPECT_FALSE(variants.has_smaller(0, 8 * MiB));
  variants.cannot_run(0);
  EXPECT_EQ(variants.best(8 * MiB), std::nullopt);
  EXPECT_FALSE(variants.refused_before(2)) << "bubbles are not asked about it any more";
}

TEST(Variants, WhileAnotherJobWaitsOnlyASmallerOneTakesOver) {
  Variants variants(3);
  variants.lacked_memory(0, 8 * MiB);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(100s), Growth::not_now), std::nullopt);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(100s)), 0U);
  variants.had_no_room(1, 8ms);
  EXPECT_EQ(variants.change(1, 16 * MiB, at(100s), Growth::not_now), 2U);
}

TEST(Variants, AJobChangesSoOftenAndNoMore) {
  Variants variants(2);
  std::size_t present = 0;
  std::uint32_t changes = 0;
  for (int look = 1; look < 20; ++look) {
    present == 0 ? variants.had_no_room(0, 8ms) : variants.have_room(0);
    const auto next = variants.change(present, 8 * MiB, at(look * 40s));
    if (!next) continue;
    variants.changed();
    present = *next;
    ++changes;
  }
  EXPECT_EQ(present, 1U) << "the last change is to one for which there is room";
  EXPECT_LE(changes, Variants::most_changes);
  EXPECT_GE(changes + 1, Variants::most_changes);
}

TEST(Variants, OneThatStaysIsNotChangedAnyMore) {
  Variants variants(2);
  variants.had_no_room(0, 8ms);
  ASSERT_EQ(variants.change(0, 8 * MiB, at(1s)), 1U);
  variants.stays();
  EXPECT_FALSE(variants.may_change());
  EXPECT_EQ(variants.change(0, 8 * MiB, at(1s)), std::nullopt);
}

}  // namespace
}  // namespace weft
