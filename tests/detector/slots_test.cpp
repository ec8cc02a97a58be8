// Forecasts: quantiles, warm-up, history, tables of several rhythms.
#include "detector/slots.h"

#include <gtest/gtest.h>

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
  for (int i = 1; i <= 100; ++i) slots.add(table, 0, Duration{i});  // 85..100 stay
  const auto forecast = slots.forecast(table, 0);
  ASSERT_TRUE(forecast.has_value());
  EXPECT_EQ(forecast->samples, 16u);
  EXPECT_EQ(forecast->low, Duration{86});
  EXPECT_EQ(forecast->median, Duration{92});
  EXPECT_EQ(forecast->high, Duration{99});
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
