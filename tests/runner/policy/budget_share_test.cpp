// The budget with bubbles whose lengths are forecast: where not all may be filled the longest ones are, until a guard.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "tests/runner/policy/main_job.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

// Iterations of 200 ms with these bubbles, each filled until its guard begins.
struct ForecastJob {
  std::vector<Duration> lengths = one_long_one_less_ten_short();
  Budget budget{0.01};
  double costs = 0;          // of a bubble that is filled to within `heals` of its end, milliseconds
  double costs_of_time = 0;  // likewise of all that is filled, as a share
  Duration heals{};          // with a guard that is longer it costs nothing
  Duration least = {}, most = std::chrono::hours(1);  // of bubbles that slices have room in
  double most_price = Budget::unlimited;              // at which they have room
  std::uint64_t number = 0, bubbles = 0;
  double noise = 0;  // of an iteration, the standard deviation, milliseconds
  std::minstd_rand random{1};
  double filled = 0, waited = 0;  // of the bubble time, milliseconds; what all of it cost

  static std::vector<Duration> one_long_one_less_ten_short() {
    std::vector<Duration> lengths{milliseconds(60), milliseconds(40)};
    lengths.insert(lengths.end(), 10, milliseconds(2));
    return lengths;
  }

  void run(std::uint64_t iterations) {
    for (const std::uint64_t end = number + iterations; number < end;) {
      ++number;
      double longer = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i) longer += fill(static_cast<std::int32_t>(i), lengths[i]);
      waited += longer;
      over(longer);
    }
  }
  // Until no more than this share of the bubbles may be filled.
  void run_down_to(double share) {
    while (budget.present().share > share) {
      run(1);
      ASSERT_LT(number, 20'000U);
    }
  }
  // Nothing can be launched in the long bubbles any more, but in others.
  void expect_fill_of_others_over(std::uint64_t iterations) {
    most = milliseconds(10);
    const double before = filled;
    run(iterations);
    EXPECT_GT(filled, before);
  }
  // How much longer iterations are over so many more, as a share.
  double slowdown_over(std::uint64_t iterations) {
    const double before = waited;
    run(iterations);
    return (waited - before) / (200.0 * static_cast<double>(iterations));
  }
  // How much of the bubble time is filled over so many more.
  double filled_over(std::uint64_t iterations) {
    const double before = filled;
    run(iterations);
    double in_iteration = 0;
    for (const Duration length : lengths) in_iteration += in_milliseconds(length);
    return (filled - before) / (in_iteration * static_cast<double>(iterations));
  }

  void over(double longer) {
    Iteration iteration;
    iteration.number = iteration.turn = iteration.since_found = number;
    iteration.rhythm = 1;
    if (noise > 0) longer += std::normal_distribution<double>(0, noise)(random);
    iteration.ended += milliseconds(200) + Duration{static_cast<std::int64_t>(1e6 * longer)};
    budget.ended(iteration);
  }

  static double in_milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

  double fill(std::int32_t ordinal, Duration length) {
    Bubble bubble = bubble_of(++bubbles, number, number, 1, ordinal);
    bubble.forecast = Forecast{length, length, length, 20};
    const bool has_room = length >= least && length <= most;
    const Duration guard = budget.guard(bubble);
    const bool is_filled = has_room && budget.may_fill(bubble) && budget.price(1) <= most_price;
    EXPECT_TRUE(!is_filled || guard < length);
    if (has_room && budget.is_limited(bubble)) budget.had_room(bubble, is_filled);
    if (!is_filled) return 0;
    budget.launched(number);
    filled += in_milliseconds(length - guard);
    return (guard > heals ? 0 : costs) + costs_of_time * in_milliseconds(length - guard);
  }
};

TEST(BudgetShare, TheLongestBubblesBringMoreThanTheyCost) {
  ForecastJob job;
  job.costs = 0.4;  // 2.4 % in all
  job.heals = milliseconds(100);
  job.run(300);
  EXPECT_LT(job.slowdown_over(1500), 0.008);
  EXPECT_GT(job.filled_over(1500), 0.7);
}

TEST(BudgetShare, WhatAGuardHealsIsNotPaid) {
  ForecastJob job;
  job.costs = 1;  // 6 % in all
  job.heals = milliseconds(10);
  job.run(300);
  EXPECT_LT(job.slowdown_over(1500), 0.004) << "only to try it again";
  EXPECT_GT(job.filled_over(1500), 0.3);
}

TEST(BudgetShare, WhatItDoesNotHealTakesAwayBubbles) {
  ForecastJob job;
  job.costs = 1.5;  // of each bubble, 9 % in all
  job.heals = milliseconds(100);
  job.noise = 1;  // or all ratios are of one bubble or of two: the estimate is their median
  job.run(100);
  EXPECT_LT(job.slowdown_over(900), 0.02) << "while it is measured what the guard saves";
  EXPECT_LT(job.slowdown_over(500), 0.01);
  EXPECT_GT(job.filled_over(500), 0.05);
}

TEST(BudgetShare, WhatCostsByTheTimeIsKeptToTheBudgetAsWell) {
  ForecastJob job;
  job.costs_of_time = 0.03;  // 1.8 % in all, half of it in the longest bubble
  job.run(1000);
  EXPECT_LT(job.slowdown_over(3000), 0.01);
  EXPECT_GT(job.filled_over(3000), 0.15);
}

// Of them many more are chosen from than cost anything.
TEST(BudgetShare, BubblesWithoutRoomDoNotCount) {
  ForecastJob job;
  job.lengths.assign(8, milliseconds(20));
  job.lengths.insert(job.lengths.end(), 600, std::chrono::microseconds(100));
  job.least = milliseconds(1);
  job.costs = 0.8;  // 3.2 % in all
  job.heals = milliseconds(100);
  job.run(300);
  EXPECT_LT(job.slowdown_over(1500), 0.01);
  EXPECT_GT(job.filled_over(1500), 0.05);
}

TEST(BudgetShare, TheGuardIsThatOfTheLongOnesWhereTheShareIsAllOfThem) {
  ForecastJob job;
  job.lengths.assign(6, milliseconds(2));
  job.lengths.insert(job.lengths.end(), 2, milliseconds(40));
  job.costs = 0.6;  // 2.4 % in all: a quarter of the bubbles
  job.heals = milliseconds(100);
  job.run(300);
  ASSERT_EQ(job.budget.present().share, 0.25);
  Bubble bubble = bubble_of(++job.bubbles, 300, 300);
  for (int i = 0; i < 200; ++i) {
    job.run(1);
    if (job.budget.present().share == 0.25) {
      EXPECT_GT(job.budget.guard(bubble), milliseconds(10)) << job.number;
    }
  }
}

// Fewer of them would cost the iterations that are filled as much.
TEST(BudgetShare, WithOneBubbleInAnIterationALongerGuardHelps) {
  ForecastJob job;
  job.lengths = {milliseconds(12)};
  job.costs = 3;  // 1.5 %
  job.heals = milliseconds(5);
  job.run(2000);
  EXPECT_GT(job.budget.present().share, 0);
  EXPECT_LT(job.slowdown_over(1000), 0.005);
  EXPECT_GT(job.filled_over(1000), 0);
}

TEST(BudgetShare, AStepBackThatWasTooMuchIsTriedMoreAndMoreSeldom) {
  ForecastJob job;
  job.costs = 1;
  job.heals = milliseconds(10);  // with an eighth of the bubbles, not with a quarter
  std::vector<std::uint64_t> tries;
  for (double share = 1; job.number < 8000;) {
    job.run(1);
    const double now = job.budget.present().share;
    if (now == 0.25 && share == 0.125) tries.push_back(job.number);
    share = now;
  }
  ASSERT_GE(tries.size(), 3U);
  ASSERT_LE(tries.size(), 5U);
  for (std::size_t i = 2; i < tries.size(); ++i)
    EXPECT_GT(tries[i] - tries[i - 1], 1.5 * static_cast<double>(tries[i - 1] - tries[i - 2]));
}

// The others are too short.
TEST(BudgetShare, IsLargerWhereItKeepsAllBubblesEmpty) {
  ForecastJob job;
  job.costs = 1;
  job.heals = milliseconds(100);
  job.run_down_to(1.0 / 8);
  job.expect_fill_of_others_over(2000);
}

// So few may be filled that most iterations have none.
TEST(BudgetShare, IsLargerWhereItKeepsTheFewBubblesEmptyThatAreLeft) {
  ForecastJob job;
  job.costs = 2;
  job.heals = milliseconds(100);
  job.run_down_to(0.02);
  job.expect_fill_of_others_over(4000);
}

// At a price that is far higher.
TEST(BudgetShare, IsLargerWhereNoBubbleHasRoomAnyMore) {
  ForecastJob job;
  job.costs = 2;
  job.heals = milliseconds(100);
  job.run(100);
  ASSERT_LT(job.budget.present().share, 0.2);
  job.costs = 0;
  job.most_price = 100 * job.budget.first_price();
  const double filled = job.filled;
  job.run(2000);
  EXPECT_GT(job.filled, filled);
}

// Then nothing is launched either, but not for the share.
TEST(BudgetShare, IsNoLargerAfterWatchingHasUsedTheBudgetUp) {
  ForecastJob job;
  job.costs = 1;
  job.heals = milliseconds(10);
  job.run(300);
  const double share = job.budget.present().share;
  ASSERT_LT(share, 1);
  job.budget.leave_for_watching(0.02);
  job.most_price = 1;
  job.run(1000);
  job.budget.leave_for_watching(0);
  EXPECT_EQ(job.budget.present().share, share);
}

// One long bubble in an iteration, and a sixty-fourth of the bubbles to be filled: in most iterations none is.
TEST(BudgetShare, IsNoLargerBecauseNoneIsChosenForLong) {
  for (int others = 0; others < 60; ++others) {
    ForecastJob job;
    job.lengths.assign(static_cast<std::size_t>(others), std::chrono::microseconds(100));
    job.lengths.push_back(milliseconds(20));
    job.least = milliseconds(1);
    job.costs = 400;
    job.heals = milliseconds(100);
    job.run(24);
    ASSERT_EQ(job.budget.present().share, 1.0 / 64);
    job.costs = 1.5;
    for (int i = 0; i < 600; ++i) {
      job.run(1);
      ASSERT_EQ(job.budget.present().share, 1.0 / 64) << others << " " << i;
    }
  }
}

TEST(BudgetShare, NoGuardWhereAllMayBeFilled) {
  ForecastJob job;
  job.run(300);
  Bubble bubble = bubble_of(1, 300, 20);
  bubble.forecast = Forecast{milliseconds(40), milliseconds(40), milliseconds(40), 20};
  EXPECT_EQ(job.budget.guard(bubble), Duration{});
  EXPECT_EQ(job.budget.present().share, 1);
}

}  // namespace
}  // namespace weft::testing
