// The planner: single decisions, and what they come to over distributions of bubble lengths in virtual time.
#include "runner/policy/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;

constexpr TimePoint bubble_opened{std::chrono::seconds(1)};

Bubble bubble_of(Duration low, Duration median, Duration high) {
  Bubble bubble;
  bubble.id = 1;
  bubble.opened = bubble_opened;
  bubble.forecast = Forecast{low, median, high, 8};
  return bubble;
}

Bubble bubble_of(Duration length) {
  return bubble_of(length, length, length);
}

TEST(Planner, OnlyInAnOpenBubbleWithAForecast) {
  const PlannerOptions options;
  EXPECT_FALSE(plan(options, bubble_opened, std::nullopt, {}, microseconds(100)).launch);
  Bubble bubble = bubble_of(microseconds(10000));
  EXPECT_TRUE(plan(options, bubble_opened, bubble, {}, microseconds(100)).launch);
  bubble.forecast.reset();
  EXPECT_EQ(plan(options, bubble_opened, bubble, {}, microseconds(100)).refusal, Unfilled::no_forecast);
  bubble.pattern = Pattern::posted_early;  // there will never be one
  EXPECT_EQ(plan(options, bubble_opened, bubble, {}, microseconds(100)).refusal, Unfilled::posted_early);
}

TEST(Planner, ShortBubblesAreLeftAlone) {
  const PlannerOptions options;
  EXPECT_FALSE(plan(options, bubble_opened, bubble_of(microseconds(999)), {}, microseconds(10)).launch);
  EXPECT_TRUE(plan(options, bubble_opened, bubble_of(microseconds(1000)), {}, microseconds(10)).launch);
  EXPECT_FALSE(plan(options, bubble_opened, bubble_of(microseconds(999), microseconds(5000), microseconds(9000)), {},
                    microseconds(10))
                   .launch);
}

TEST(Planner, TheLastSliceEndsTheGuardBeforeTheForecastEnd) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(2000));
  EXPECT_TRUE(plan(options, bubble_opened + microseconds(1500), bubble, {}, microseconds(200)).launch);
  EXPECT_FALSE(plan(options, bubble_opened + microseconds(1501), bubble, {}, microseconds(200)).launch);
  EXPECT_FALSE(plan(options, bubble_opened + microseconds(2500), bubble, {}, microseconds(1)).launch);
}

TEST(Planner, WhatIsInFlightComesFirst) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(2000));
  const TimePoint now = bubble_opened + microseconds(1200);
  EXPECT_TRUE(plan(options, now, bubble, {1, bubble_opened + microseconds(1500)}, microseconds(200)).launch);
  EXPECT_FALSE(plan(options, now, bubble, {1, bubble_opened + microseconds(1501)}, microseconds(200)).launch);
  // An expected end that has passed is no room gained.
  EXPECT_FALSE(plan(options, bubble_opened + microseconds(1501), bubble, {1, bubble_opened}, microseconds(200)).launch);
}

TEST(Planner, AtMostTwoInFlightAndThenAsksAgain) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(100000));
  const InFlight two{2, bubble_opened + microseconds(1400)};
  const Decision decision = plan(options, bubble_opened + microseconds(1000), bubble, two, microseconds(200));
  EXPECT_FALSE(decision.launch);
  ASSERT_TRUE(decision.again.has_value());
  EXPECT_EQ(*decision.again, bubble_opened + microseconds(1200));
  // Late: at once, not in the past.
  EXPECT_EQ(plan(options, bubble_opened + microseconds(1500), bubble, two, microseconds(200)).again,
            bubble_opened + microseconds(1500));
  EXPECT_FALSE(plan(options, bubble_opened + microseconds(99900), bubble, two, microseconds(200)).again.has_value());
}

// The first may use half of the guard above the low quantile, one that waits behind it may not: it runs in any case.
TEST(Planner, TheSecondOneNeedsTheLowQuantileToCoverIt) {
  const PlannerOptions options;
  const Bubble bubble = bubble_of(microseconds(2000), microseconds(2100), microseconds(2200));
  const TimePoint now = bubble_opened + microseconds(1500);
  EXPECT_TRUE(plan(options, now, bubble, {}, microseconds(300)).launch);
  EXPECT_TRUE(plan(options, bubble_opened, bubble, {1, bubble_opened + microseconds(1400)}, microseconds(300)).launch);
  const Decision decision = plan(options, now, bubble, {1, bubble_opened + microseconds(1500)}, microseconds(300));
  EXPECT_FALSE(decision.launch);
  // It is looked at again when it would be the first.
  EXPECT_EQ(decision.again, bubble_opened + microseconds(1500));
}

TEST(Planner, WithOneInFlightTheNextIsAskedForWhenItEnds) {
  PlannerOptions options;
  options.most_in_flight = 1;
  const Decision decision = plan(options, bubble_opened, bubble_of(microseconds(9000)),
                                 {1, bubble_opened + microseconds(250)}, microseconds(250));
  EXPECT_FALSE(decision.launch);
  EXPECT_EQ(decision.again, bubble_opened + microseconds(250));
}

TEST(Planner, ALongSliceNeedsRoomTwice) {
  const PlannerOptions options;
  EXPECT_FALSE(plan(options, bubble_opened, bubble_of(microseconds(1299)), {}, microseconds(500)).launch);
  EXPECT_TRUE(plan(options, bubble_opened, bubble_of(microseconds(1300)), {}, microseconds(500)).launch);
}

TEST(Planner, ASmallSpreadCostsNothingALargeOneIsNotRisked) {
  const PlannerOptions options;
  const TimePoint late = bubble_opened + microseconds(9600);
  // Up to half the guard above the low quantile, never above the median.
  EXPECT_TRUE(plan(options, late, bubble_of(microseconds(9950), microseconds(10000), microseconds(10050)), {},
                   microseconds(100))
                  .launch);
  EXPECT_FALSE(
      plan(options, late, bubble_of(microseconds(9950), microseconds(9990), microseconds(10050)), {}, microseconds(100))
          .launch);
  EXPECT_FALSE(plan(options, late, bubble_of(microseconds(5000), microseconds(10000), microseconds(10050)), {},
                    microseconds(100))
                   .launch);
}

// Bubbles of one slot, one after the other; forecasts as the detector makes them, from the latest sixteen.
struct Outcome {
  double conversion = 0;        // of the bubbles that had a forecast
  double collisions = 0;        // share of those in which fill work ran past the end
  Duration worst{};             // longest time that it did
  Duration worst_of_covered{};  // likewise, of the bubbles that were as long as their low quantile
};

Outcome play(double mean, double spread, unsigned seed) {
  const PlannerOptions options;
  const Duration slice = microseconds(250);
  std::minstd_rand random(seed);
  std::normal_distribution<double> length(mean, spread);
  std::deque<Duration> history;
  Duration idle{}, filled{};
  Outcome outcome;
  int played = 0, collided = 0;
  for (int i = 0; i < 2000; ++i) {
    const Duration real{static_cast<std::int64_t>(std::max(10.0, length(random)) * 1000)};
    if (history.size() == 16) {
      std::vector<Duration> sorted(history.begin(), history.end());
      std::sort(sorted.begin(), sorted.end());
      const Bubble bubble = bubble_of(sorted[1], sorted[7], sorted[14]);
      ++played;
      idle += real;
      TimePoint end = bubble_opened;  // of what was launched
      for (TimePoint now = bubble_opened; now < bubble_opened + real; now += microseconds(50)) {
        InFlight in_flight{0, end};
        if (end > now) in_flight.slices = end > now + slice ? 2 : 1;
        if (!plan(options, now, bubble, in_flight, slice).launch) continue;
        end = std::max(now, end) + slice;
        filled += slice;
      }
      const Duration over = end - (bubble_opened + real);
      outcome.worst = std::max(outcome.worst, over);
      if (real >= bubble.forecast->low) outcome.worst_of_covered = std::max(outcome.worst_of_covered, over);
      collided += over > Duration{} ? 1 : 0;
    }
    history.push_back(real);
    if (history.size() > 16) history.pop_front();
  }
  outcome.conversion = static_cast<double>(filled.count()) / static_cast<double>(idle.count());
  outcome.collisions = static_cast<double>(collided) / played;
  return outcome;
}

TEST(Planner, SteadyBubblesAreFilledWithoutCollision) {
  for (const double mean : {10000.0, 40000.0, 200000.0}) {
    const Outcome outcome = play(mean, 20, 3);  // microseconds
    EXPECT_EQ(outcome.collisions, 0.0) << mean;
    EXPECT_GT(outcome.conversion, mean < 20000 ? 0.94 : 0.98) << mean;
  }
}

TEST(Planner, UnsteadyBubblesCostAtMostTwoSlicesEach) {
  const Outcome outcome = play(20000, 2000, 4);  // a tenth: far more than the guard
  EXPECT_GT(outcome.conversion, 0.75);
  EXPECT_LT(outcome.collisions, 0.15);
  EXPECT_LE(outcome.worst, microseconds(500));
  EXPECT_EQ(outcome.worst_of_covered, Duration{0}) << "a bubble that was not shorter than its low quantile";
}

}  // namespace
}  // namespace weft
