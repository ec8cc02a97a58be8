// How the idle time is spread over bubbles of different lengths.
#include "runner/policy/bubble_lengths.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(BubbleLengths, NothingIsKnownBeforeTheFirstBubble) {
  BubbleLengths lengths;
  EXPECT_FALSE(lengths.is_known());
  EXPECT_EQ(lengths.share_of_at_least(0ns), 0);
  lengths.add(0ns);
  lengths.add(-5ns);
  EXPECT_FALSE(lengths.is_known());
}

TEST(BubbleLengths, SharesAreOfTimeNotOfNumbers) {
  BubbleLengths lengths;
  for (int i = 0; i < 90; ++i) lengths.add(1ms);
  lengths.add(10ms);
  EXPECT_TRUE(lengths.is_known());
  EXPECT_DOUBLE_EQ(lengths.share_of_at_least(0ns), 1);
  EXPECT_DOUBLE_EQ(lengths.share_of_at_least(700us), 1);
  EXPECT_DOUBLE_EQ(lengths.share_of_at_least(2ms), 0.1);
  EXPECT_DOUBLE_EQ(lengths.share_of_at_least(20ms), 0);
}

// A bubble of 1.6 ms is known to have 1.57 ms and no more.
TEST(BubbleLengths, AShareIsNeverTooLarge) {
  for (Duration length = 1us; length < 10s; length = length * 13 / 10) {
    BubbleLengths lengths;
    lengths.add(length);
    EXPECT_EQ(lengths.share_of_at_least(length + 1ns), 0) << length.count();
    EXPECT_EQ(lengths.share_of_at_least(length * 2 / 3), 1) << length.count();
  }
}

TEST(BubbleLengths, AllLengthsHaveAPlace) {
  BubbleLengths lengths;
  lengths.add(1ns);
  lengths.add(Duration::max());
  EXPECT_EQ(BubbleLengths(lengths.idle()).share_of_at_least(0ns), 1);
}

}  // namespace
}  // namespace weft
