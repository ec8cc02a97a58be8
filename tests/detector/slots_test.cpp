// Forecasts: quantiles, warm-up, history, tables of several rhythms.
#include "detector/slots.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <random>

namespace weft {
namespace {

TEST(Slots, NothingBeforeWarmUpAndTwoSamples) {
  Slots slots(16, 1);
  const std::uint32_t table = slots.table_for(7, 10);
  slots.add(table, 3, Duration{900});
  slots.add(table, 3, Duration{100});
  EXPECT_FALSE(slots.forecast(table, 3).has_value());
  slots.add(table, 3, Duration{110});
  const auto forecast = slots.forecast(table, 3);
  ASSERT_TRUE(forecast.has_value());
  EXPECT_EQ(forecast->low, Duration{100});
  EXPECT_EQ(forecast->high, Duration{110});
  EXPECT_EQ(forecast->samples, 2u);
  EXPECT_FALSE(slots.forecast(table, 4).has_value());
  EXPECT_FALSE(slots.forecast(table, -1).has_value());
  EXPECT_FALSE(slots.forecast(table, 10).has_value());
}

TEST(Slots, QuantilesOfTheLatestLengths) {
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 1);
  slots.add(table, 0, Duration{1});
  for (int i = 0; i < 8; ++i) {  // 850 to 1000 stay
    slots.add(table, 0, Duration{850 + 10 * i});
    slots.add(table, 0, Duration{1000 - 10 * i});
  }
  const auto forecast = slots.forecast(table, 0);
  ASSERT_TRUE(forecast.has_value());
  EXPECT_EQ(forecast->samples, 16u);
  EXPECT_EQ(forecast->low, Duration{857});
  EXPECT_EQ(forecast->median, Duration{925});
  EXPECT_EQ(forecast->high, Duration{993});
}

TEST(Slots, AfterAChangeOnlyWhatCameSinceCounts) {
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 1);
  for (int i = 0; i < 20; ++i) slots.add(table, 0, Duration{1000 + 37 * i % 100});
  for (const int length : {1500, 1510}) slots.add(table, 0, Duration{length});
  EXPECT_LT(slots.forecast(table, 0)->median, Duration{1100}) << "two may be stragglers";
  slots.add(table, 0, Duration{1490});
  EXPECT_EQ(slots.forecast(table, 0)->median, Duration{1500});
  EXPECT_EQ(slots.forecast(table, 0)->samples, 3U);
}

// How often the next length lies between the low and the high quantile, where lengths are alike.
TEST(Slots, QuantilesAreCalibrated) {
  std::minstd_rand random(5);
  std::lognormal_distribution<double> length(0, 0.1);
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 1);
  const auto next = [&] { return Duration{static_cast<std::int64_t>(1e6 * length(random))}; };
  for (int i = 0; i < 16; ++i) slots.add(table, 0, next());
  int below = 0, above = 0;
  constexpr int many = 20000;
  for (int i = 0; i < many; ++i) {
    const Duration real = next();
    const Forecast forecast = *slots.forecast(table, 0);
    below += real < forecast.low;
    above += real > forecast.high;
    slots.add(table, 0, real);
  }
  EXPECT_NEAR(static_cast<double>(below) / many, 0.1, 0.01);
  EXPECT_NEAR(static_cast<double>(above) / many, 0.1, 0.01);
}

// How often a length lies outside of a forecast of many, to either side.
struct Outside {
  double below = 0, above = 0;
};
template <class Next>
Outside outside_of_forecasts(const Next& next) {
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 1);
  int below = 0, above = 0, many = 0;
  for (int i = 0; i < 60000; ++i) {
    const Duration real = next();
    if (const std::optional<Forecast> forecast = slots.forecast(table, 0)) {
      if (i >= 2000 && forecast->samples >= Calibration::fewest_samples) {
        below += real < forecast->low;
        above += real > forecast->high;
        ++many;
      }
      slots.compare(table, *forecast, real);
    }
    slots.add(table, 0, real);
  }
  return {static_cast<double>(below) / many, static_cast<double>(above) / many};
}

TEST(Slots, ForecastsOfLengthsThatGoWithTheLatestOneAreRight) {
  std::minstd_rand random(5);
  std::normal_distribution<double> step(0, 0.05);
  double log_length = 0;
  const Outside outside = outside_of_forecasts([&] {
    log_length = 0.9 * log_length + step(random);
    return Duration{static_cast<std::int64_t>(1e6 * std::exp(log_length))};
  });
  EXPECT_NEAR(outside.below, 0.1, 0.005);
  EXPECT_NEAR(outside.above, 0.1, 0.005);
}

TEST(Slots, AForecastOfOneLengthHasNoWidth) {
  const Duration always = std::chrono::milliseconds(3);
  const Outside outside = outside_of_forecasts([&] { return always; });
  EXPECT_EQ(outside.below, 0);
  EXPECT_EQ(outside.above, 0);
}

// A short first piece would make the long second one look as if it might end at any time.
TEST(Slots, ThePiecesOfAWaitHaveTheirOwnLengths) {
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 1);
  const auto add = [&](std::uint32_t piece, std::initializer_list<int> lengths) {
    for (const int length : lengths) slots.add(table, 0, Duration{length}, piece);
  };
  add(0, {100, 110});
  EXPECT_EQ(slots.forecast(table, 0, 1)->median, Duration{105}) << "there was no second piece yet";
  add(1, {9000});
  EXPECT_EQ(slots.forecast(table, 0, 1)->median, Duration{105}) << "one is too few";
  add(1, {9100});
  EXPECT_EQ(slots.forecast(table, 0, 1)->median, Duration{9050});
  EXPECT_EQ(slots.forecast(table, 0, 0)->median, Duration{105});
  EXPECT_EQ(slots.forecast(table, 0, 7)->median, Duration{9050}) << "the last ones that are kept apart are alike";
  add(7, {500, 500});
  add(8, {500, 500});
  EXPECT_EQ(slots.forecast(table, 0, 2)->median, Duration{500});
  EXPECT_EQ(slots.forecast(table, 0, 1)->median, Duration{9050});
}

TEST(Slots, EachRhythmHasItsOwnTableAndFindsItAgain) {
  Slots slots(16, 0);
  const std::uint32_t training = slots.table_for(1, 10);
  for (int i = 0; i < 3; ++i) slots.add(training, 0, Duration{1000});
  const std::uint32_t evaluation = slots.table_for(2, 10);
  EXPECT_NE(training, evaluation);
  EXPECT_FALSE(slots.forecast(evaluation, 0).has_value());
  EXPECT_EQ(slots.table_for(1, 10), training);
  EXPECT_TRUE(slots.forecast(training, 0).has_value());
  // Only the latest four are kept; a number is never used twice.
  for (std::uint64_t key = 10; key < 14; ++key) EXPECT_GT(slots.table_for(key, 10), evaluation);
  EXPECT_FALSE(slots.forecast(training, 0).has_value());
  EXPECT_NE(slots.table_for(1, 10), training);
}

TEST(Slots, ANeighbourStandsInForWhatIsNotKnownYet) {
  Slots slots(16, 0);
  const std::uint32_t table = slots.table_for(7, 100);
  for (std::int32_t ordinal = 1; ordinal < 50; ++ordinal) slots.stand_in(table, ordinal, ordinal - 1);
  EXPECT_FALSE(slots.forecast(table, 2).has_value());
  for (const int length : {100, 110}) slots.add(table, 0, Duration{length});
  EXPECT_EQ(slots.forecast(table, 2)->high, Duration{110});
  EXPECT_FALSE(slots.forecast(table, 49).has_value()) << "too far away";
  slots.add(table, 2, Duration{5});
  EXPECT_EQ(slots.forecast(table, 2)->high, Duration{110});
  slots.add(table, 2, Duration{6});
  EXPECT_EQ(slots.forecast(table, 2)->high, Duration{6});
  EXPECT_EQ(slots.forecast(table, 3)->high, Duration{6});
}

}  // namespace
}  // namespace weft
