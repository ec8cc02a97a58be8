// Arithmetic on sets of time.
#include "trace/validate/intervals.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Intervals, AUnitedSetIsSortedWithoutOverlapsTouchesAndEmptyOnes) {
  EXPECT_EQ(united({{5, 7}, {1, 2}, {2, 3}, {6, 9}, {20, 20}, {30, 25}}), (Spans{{1, 3}, {5, 9}}));
  EXPECT_EQ(united({{0, 10}, {2, 3}}), (Spans{{0, 10}}));
  EXPECT_TRUE(united({}).empty());
}

TEST(Intervals, TheIntersectionIsWhatBothHave) {
  EXPECT_EQ(intersection({{0, 10}, {20, 30}}, {{5, 25}}), (Spans{{5, 10}, {20, 25}}));
  EXPECT_EQ(intersection({{0, 10}}, {{1, 2}, {3, 4}, {9, 40}}), (Spans{{1, 2}, {3, 4}, {9, 10}}));
  EXPECT_TRUE(intersection({{0, 10}}, {{10, 20}}).empty());
}

TEST(Intervals, TheDifferenceIsWhatIsOnlyInTheFirst) {
  EXPECT_EQ(difference({{0, 10}}, {{2, 3}, {5, 6}}), (Spans{{0, 2}, {3, 5}, {6, 10}}));
  EXPECT_EQ(difference({{0, 10}, {20, 30}}, {{5, 25}}), (Spans{{0, 5}, {25, 30}}));
  EXPECT_TRUE(difference({{2, 3}}, {{0, 10}}).empty());
  EXPECT_EQ(difference({{0, 4}}, {{4, 8}}), (Spans{{0, 4}}));
}

TEST(Intervals, AnIntersectionAndADifferenceAddUpToTheWhole) {
  const Spans left{{0, 7}, {9, 12}, {15, 40}}, right{{1, 2}, {6, 10}, {14, 16}, {30, 50}};
  EXPECT_EQ(length(intersection(left, right)) + length(difference(left, right)), length(left));
}

}  // namespace
}  // namespace weft
