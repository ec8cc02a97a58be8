// From CUPTI's clock to CLOCK_MONOTONIC.
#include "trace/validate/clock_map.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::int64_t offset = 1'700'000'000'000'000'000;
constexpr std::int64_t second = 1'000'000'000;

TEST(ClockMap, ASingleReadingIsAnOffset) {
  const ClockMap map({{100, offset, 200}});
  EXPECT_EQ(map.monotonic(offset + 50), 200);
  EXPECT_EQ(map.uncertainty(), 50);
}

TEST(ClockMap, BetweenReadingsItIsALine) {
  // CUPTI's clock goes 20 ppm faster.
  const ClockMap map({{0, offset, 0},
                      {second, offset + second + 20'000, second},
                      {2 * second, offset + 2 * second + 40'000, 2 * second}});
  EXPECT_EQ(map.monotonic(offset + second / 2 + 10'000), second / 2);
  EXPECT_EQ(map.monotonic(offset + second * 3 / 2 + 30'000), second * 3 / 2);
  EXPECT_EQ(map.uncertainty(), 0);
}

TEST(ClockMap, OutsideItGoesOnAsBetweenTheNearestTwo) {
  const ClockMap map(
      {{second, offset + second + 20'000, second}, {2 * second, offset + 2 * second + 40'000, 2 * second}});
  EXPECT_EQ(map.monotonic(offset), 0);
  EXPECT_EQ(map.monotonic(offset + 3 * second + 60'000), 3 * second);
}

TEST(ClockMap, AClockThatWasSetMakesItUncertain) {
  const ClockMap map(
      {{0, offset, 0}, {second, offset + second + 5'000'000, second}, {2 * second, offset + 2 * second, 2 * second}});
  EXPECT_EQ(map.uncertainty(), 5'000'000);
}

TEST(ClockMap, AClockThatGoesBackMapsNothing) {
  EXPECT_TRUE(ClockMap({{0, offset, 0}, {second, offset + second, second}, {0, offset, 0}}).rises());
  EXPECT_FALSE(ClockMap({{0, offset, 0}, {second, offset - second, second}}).rises());
  EXPECT_FALSE(ClockMap({{0, offset, 0}, {second, offset, second}}).rises());
}

TEST(ClockMap, TheOrderOfReadingsAndARepeatedOneDoNotMatter) {
  const ClockMap map({{second, offset + second, second}, {0, offset, 0}, {0, offset, 0}});
  EXPECT_EQ(map.monotonic(offset + second / 4), second / 4);
}

}  // namespace
}  // namespace weft
