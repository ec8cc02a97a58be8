// Offsets between clocks as functions of time: read, turned round, put one behind the other, with fewer knots.
#include "trace/clocks/clock_offset.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/trace/clocks/simulated_hosts.h"

namespace weft {
namespace {

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

ClockOffset bent() {
  return {{{at(1000), Duration(500), Duration(10)}, {at(2000), Duration(700), Duration(30)}}, 0.5, 0.25};
}

void expect_reading(const KnownOffset& reading, long ahead, long within) {
  EXPECT_EQ(reading.ahead, Duration(ahead));
  EXPECT_EQ(reading.within, Duration(within));
}

TEST(ClockOffset, LiesOnTheStraightLineBetweenKnots) {
  expect_reading(bent().at(at(1000)), 500, 10);
  expect_reading(bent().at(at(1500)), 600, 20);
  expect_reading(bent().at(at(2000)), 700, 30);
}

TEST(ClockOffset, GoesOnWithItsRateAndGetsLessSure) {
  expect_reading(bent().at(at(2400)), 900, 131);
  expect_reading(bent().at(at(600)), 300, 111);
}

TEST(ClockOffset, TheSameClockIsNeverAhead) {
  expect_reading(ClockOffset().at(at(123)), 0, 0);
  expect_reading(ClockOffset(Duration(-7)).at(at(123)), -7, 0);
}

TEST(ClockOffset, TurnedRoundItIsTheOtherClocksView) {
  const ClockOffset back = bent().inverse();
  for (const long time : {1000L, 1200L, 1777L, 2000L}) {
    const KnownOffset there = bent().at(at(time));
    const KnownOffset here = back.at(at(time) + there.ahead);
    EXPECT_NEAR(static_cast<double>((here.ahead + there.ahead).count()), 0, 1);
    EXPECT_NEAR(static_cast<double>((here.within - there.within).count()), 0, 1);
  }
}

TEST(ClockOffset, PutBehindAnotherTheIntervalsAddUp) {
  const ClockOffset third{{{at(1500), Duration(-100), Duration(1)}, {at(2700), Duration(-40), Duration(4)}}, 0, 0};
  const ClockOffset all = bent().then(third);
  for (const long time : {1000L, 1400L, 1900L, 2000L}) {
    const KnownOffset first = bent().at(at(time)), second = third.at(at(time) + first.ahead), both = all.at(at(time));
    EXPECT_NEAR(static_cast<double>((both.ahead - first.ahead - second.ahead).count()), 0, 2);
    EXPECT_NEAR(static_cast<double>((both.within - first.within - second.within).count()), 0, 2);
  }
}

// A machine that stood still: the truth is where its clock goes on.
TEST(ClockOffset, NoClockGoesBack) {
  const ClockOffset offset{{{at(1000), Duration(0), Duration(5)},
                            {at(1100), Duration(-400), Duration(600)},
                            {at(2000), Duration(-800), Duration(5)}},
                           0,
                           0};
  EXPECT_EQ(offset.at(at(1100)).ahead, Duration(-99));
  EXPECT_EQ(offset.at(at(1100)).within, Duration(600 + 301));
  EXPECT_EQ(offset.at(at(2000)).ahead, Duration(-800));
}

TEST(ClockOffset, WithFewerKnotsTheIntervalHoldsAllThatItHeld) {
  test::Dice dice(1);
  std::vector<ClockOffset::Knot> knots;
  for (long k = 0; k < 2000; ++k)
    knots.push_back({at(k * 10'000), Duration(std::llround(dice.between(-300, 300))),
                     Duration(std::llround(dice.between(50, 200)))});
  const ClockOffset fewer(knots, 0, 0);
  EXPECT_LE(fewer.knots().size(), ClockOffset::most_knots);
  EXPECT_EQ(fewer.knots().front().time, knots.front().time);
  EXPECT_EQ(fewer.knots().back().time, knots.back().time);
  for (const ClockOffset::Knot& knot : knots) {
    const KnownOffset reading = fewer.at(knot.time);
    EXPECT_LE(reading.ahead - reading.within, knot.ahead - knot.within + Duration(1));
    EXPECT_GE(reading.ahead + reading.within, knot.ahead + knot.within - Duration(1));
  }
}

TEST(ClockOffset, ReachesTimesBeyondItsKnots) {
  const ClockOffset longer = bent().reaching(at(0), at(10'000));
  EXPECT_EQ(longer.knots().front().time, at(0));
  EXPECT_EQ(longer.knots().back().time, at(10'000));
  EXPECT_EQ(longer.knots().size(), bent().knots().size() + 2);
  for (const long time : {-500, 0, 300, 1500, 9000, 20'000}) {
    EXPECT_NEAR(static_cast<double>(longer.at(at(time)).ahead.count()),
                static_cast<double>(bent().at(at(time)).ahead.count()), 2);
    EXPECT_NEAR(static_cast<double>(longer.at(at(time)).within.count()),
                static_cast<double>(bent().at(at(time)).within.count()), 2);
  }
  EXPECT_EQ(bent().reaching(at(1500), at(1600)).knots().size(), bent().knots().size());
}

TEST(ClockOffset, TheMedianIsThatOverTheTimeAndNotOverTheKnots) {
  const ClockOffset offset{
      {{at(1000), {}, Duration(5)}, {at(1001), {}, Duration(5)}, {at(1002), {}, Duration(5)}}, 0, 0.1};
  EXPECT_EQ(offset.median_within(), Duration(5));
  EXPECT_EQ(offset.most_within(), Duration(5));
  EXPECT_NEAR(static_cast<double>(offset.median_within(at(1000), at(3002)).count()), 105, 2);
  EXPECT_NEAR(static_cast<double>(offset.most_within(at(1000), at(3002)).count()), 205, 2);
  EXPECT_NEAR(static_cast<double>(offset.most_within(at(0), at(1002)).count()), 105, 2);
}

TEST(ClockOffset, KeepsABoundedNumberOfKnots) {
  std::vector<ClockOffset::Knot> knots;
  for (long k = 0; k < 100'000; ++k) knots.push_back({at(k), Duration(k % 2), Duration(1)});
  EXPECT_LE(ClockOffset(knots, 0, 0).knots().size(), ClockOffset::most_knots);
}

}  // namespace
}  // namespace weft
