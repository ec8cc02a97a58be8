// How much longer a bubble lasts.
#include "runner/policy/remaining.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

const Forecast forecast{9ms, 10ms, 12ms, 16};

TEST(Remaining, TheForecastsQuantilesAreItsOwn) {
  const Remaining at_opening(forecast, 0ms);
  EXPECT_NEAR(at_opening.ends_within(9ms), 0.1, 0.02);
  EXPECT_NEAR(at_opening.ends_within(10ms), 0.5, 0.02);
  EXPECT_NEAR(at_opening.ends_within(12ms), 0.9, 0.02);
}

TEST(Remaining, TheCloserTheEndTheSoonerItComes) {
  double before = 0;
  for (const Duration age : {6ms, 8ms, 9ms, 10ms}) {
    const double soon = Remaining(forecast, age).ends_within(100us);
    EXPECT_GE(soon, before) << age.count();
    before = soon;
  }
  EXPECT_LT(Remaining(forecast, 100ms).ends_within(100us), 0.01) << "one of those that go on";
}

TEST(Remaining, WithoutAForecastItLastsLongerTheLongerItHasLasted) {
  const Remaining fresh(std::nullopt, 0ms), old(std::nullopt, 50ms);
  EXPECT_NEAR(fresh.ends_within(Remaining::scale_without_forecast), 0.5, 1e-9);
  EXPECT_LT(old.ends_within(1ms), 0.02);
}

// Against the sum over a thousand moments.
TEST(Remaining, TheExpectedOverrunIsTheIntegralOfTheChanceThatItEndedBefore) {
  for (const Duration age : {0ms, 9ms, 10ms, 13ms}) {
    const Remaining remaining(forecast, age);
    for (const Duration slice : {50us, 300us}) {
      double sum = 0;
      for (int i = 0; i < 1000; ++i) sum += remaining.ends_within(100us + slice * (2 * i + 1) / 2000);
      const double expected = sum / 1000 * static_cast<double>(slice.count());
      EXPECT_NEAR(static_cast<double>(remaining.expected_overrun(100us, slice).count()), expected, 2 + 0.01 * expected);
    }
  }
}

TEST(Remaining, ABubbleThatNeverVariesIsNotCertain) {
  const Remaining remaining(Forecast{10ms, 10ms, 10ms, 16}, 0ms);
  EXPECT_GT(remaining.ends_within(5ms), 0);
  EXPECT_LT(remaining.ends_within(5ms), 0.02);
}

}  // namespace
}  // namespace weft
