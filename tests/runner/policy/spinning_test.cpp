// Near which times the dispatcher looks without sleep, what that may cost, and when it rests.
#include "runner/policy/spinning.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint{time};
}

Bubble bubble(std::uint64_t id, Duration opened, Duration low, Duration median, Duration high) {
  Bubble made;
  made.id = id;
  made.opened = at(opened);
  made.forecast = Forecast{low, median, high, 20};
  return made;
}

// So much was saved up: nothing happened for a second first.
Spinning rested(double share) {
  Spinning spinning(share);
  spinning.none_is_open(at(1s));
  spinning.none_is_open(at(2s));
  return spinning;
}

TEST(Spinning, LooksOnAroundTheExpectedEnd) {
  Spinning spinning = rested(0.05);
  spinning.is_open(bubble(1, 2s, 9ms, 10ms, 12ms), at(2s));
  ASSERT_TRUE(spinning.window());
  // 2.2 standard deviations, of which 1.28 are 1 ms before the median and 2 ms behind it.
  EXPECT_NEAR(std::chrono::duration<double>(at(2s + 10ms) - spinning.window()->from).count(), 1.717e-3, 1e-6);
  EXPECT_NEAR(std::chrono::duration<double>(spinning.window()->until - at(2s + 10ms)).count(), 3.433e-3, 1e-6);
  EXPECT_FALSE(spinning.at(at(2s + 8ms)));
  EXPECT_TRUE(spinning.at(at(2s + 8500us)));
  EXPECT_TRUE(spinning.at(at(2s + 13ms)));
  EXPECT_FALSE(spinning.at(at(2s + 14ms)));
  spinning.none_is_open(at(2s + 10ms));
  EXPECT_FALSE(spinning.at(at(2s + 10ms)));
  EXPECT_NEAR(std::chrono::duration<double>(spinning.spent()).count(), 1.717e-3, 1e-6);
}

TEST(Spinning, TheSameBubbleChangesNothing) {
  Spinning spinning = rested(0.05);
  spinning.is_open(bubble(1, 2s, 9ms, 10ms, 12ms), at(2s));
  const TimePoint from = spinning.window()->from;
  spinning.is_open(bubble(1, 2s, 1ms, 2ms, 3ms), at(2s + 5ms));
  EXPECT_EQ(spinning.window()->from, from);
}

TEST(Spinning, WithoutAForecastOrAShareItSleeps) {
  Spinning spinning = rested(0.05);
  Bubble unknown;
  unknown.id = 1;
  spinning.is_open(unknown, at(2s));
  EXPECT_FALSE(spinning.window());
  Spinning never = rested(0);
  never.is_open(bubble(1, 2s, 9ms, 10ms, 12ms), at(2s));
  EXPECT_FALSE(never.window());
}

// Of eight samples the high quantile is the longest: a straggler of 2 s.
TEST(Spinning, AStragglerMakesNoLongWindow) {
  Spinning spinning = rested(0.05);
  spinning.is_open(bubble(1, 2s, 9ms, 10ms, 2s), at(2s));
  ASSERT_TRUE(spinning.window());
  EXPECT_LE(spinning.window()->until - spinning.window()->from, 50ms) << "what a second has saved";
  spinning.none_is_open(at(5s));
  EXPECT_LE(spinning.spent(), 50ms);
}

TEST(Spinning, RestsLessAgainAfterManyWindowsThatNobodyInterrupted) {
  Spinning spinning = rested(1);
  Duration time = 10s;
  for (int i = 0; i < 20; ++i) spinning.interrupted(at(time += 100s));
  std::uint64_t id = 0;
  for (time += 100s; id < 6 * Spinning::enough_undisturbed; time += 20ms) {
    spinning.is_open(bubble(++id, time, 9ms, 10ms, 12ms), at(time));
    spinning.none_is_open(at(time + 10ms));
  }
  spinning.interrupted(at(time));
  spinning.is_open(bubble(++id, time + 900ms, 9ms, 10ms, 12ms), at(time + 900ms));
  EXPECT_FALSE(spinning.window());
  spinning.is_open(bubble(++id, time + 1s, 9ms, 10ms, 12ms), at(time + 1s));
  EXPECT_TRUE(spinning.window()) << "the shortest rest";
}

// Bubbles of 10 ms, one behind the other, end anywhere between 8 and 12 ms.
TEST(Spinning, TakesNoMoreThanItsShareOfTheCore) {
  for (const double share : {0.01, 0.05, 0.2}) {
    Spinning spinning(share);
    Duration time = 1s;
    std::uint64_t id = 0;
    for (; time < 11s; ++id) {
      spinning.is_open(bubble(id + 1, time, 8ms, 10ms, 12ms), at(time));
      time += 8ms + static_cast<int>(id % 5) * 1ms;
      spinning.none_is_open(at(time));
    }
    const double spent = std::chrono::duration<double>(spinning.spent()).count() / 10;
    EXPECT_LE(spent, share + 0.001);
    EXPECT_GE(spent, 0.8 * std::min(share, 0.3));
  }
}

TEST(Spinning, RestsLongerEachTimeItIsInterrupted) {
  Spinning spinning = rested(1);
  const auto may_spin = [&](std::uint64_t id, Duration time) {
    spinning.is_open(bubble(id, time, 9ms, 10ms, 12ms), at(time));
    return spinning.window().has_value();
  };
  EXPECT_TRUE(may_spin(1, 2s));
  spinning.interrupted(at(3s));
  EXPECT_FALSE(spinning.window());
  EXPECT_FALSE(may_spin(2, 3900ms));
  EXPECT_TRUE(may_spin(3, 4s));
  spinning.interrupted(at(5s));
  EXPECT_FALSE(may_spin(4, 6900ms));
  EXPECT_TRUE(may_spin(5, 7s));
  Duration time = 10s;
  for (int i = 0; i < 20; ++i) spinning.interrupted(at(time += 100s));
  EXPECT_FALSE(may_spin(6, time + 63s));
  EXPECT_TRUE(may_spin(7, time + Spinning::longest_rest));
}

}  // namespace
}  // namespace weft
