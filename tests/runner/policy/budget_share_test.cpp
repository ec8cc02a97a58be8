// The budget with bubbles whose lengths are forecast: where not all may be filled the longest ones are, until a guard.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/runner/policy/main_job.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

// Iterations of 200 ms with one bubble of 60 ms, one of 40 ms and ten of 2 ms, each filled until its guard begins.
struct ForecastJob {
  Budget budget{0.01};
  double costs = 0;  // of a bubble that is filled to within `heals` of its end, milliseconds
  Duration heals{};  // with a guard that is longer it costs nothing
  Duration nothing_fits_beyond = std::chrono::hours(1);
  std::uint64_t number = 0, bubbles = 0;
  double filled = 0, waited = 0;  // of the bubble time, milliseconds; what all of it cost

  static Duration length_of(int bubble) { return bubble == 0 ? milliseconds(60) : milliseconds(bubble == 1 ? 40 : 2); }

  void run(std::uint64_t iterations) {
    for (const std::uint64_t end = number + iterations; number < end;) {
      ++number;
      double longer = 0;
      for (int i = 0; i < 12; ++i) longer += fill(length_of(i));
      waited += longer;
      over(longer);
    }
  }

  void over(double longer) {
    Iteration iteration;
    iteration.number = iteration.turn = iteration.since_found = number;
    iteration.rhythm = 1;
    iteration.ended += milliseconds(200) + Duration{static_cast<std::int64_t>(1e6 * longer)};
    budget.ended(iteration);
  }

  double fill(Duration length) {
    Bubble bubble = bubble_of(++bubbles, number, number);
    bubble.forecast = Forecast{length, length, length, 20};
    const bool may = budget.may_fill(bubble);
    const Duration guard = budget.guard(bubble);
    budget.bubble_closed(bubble);
    if (length > nothing_fits_beyond) return 0;
    if (budget.is_too_short(bubble) || (may && guard >= length)) budget.kept_back();
    if (!may || guard >= length) return 0;
    budget.launched(number);
    filled += std::chrono::duration<double, std::milli>(length - guard).count();
    return guard > heals ? 0 : costs;
  }
};

TEST(BudgetShare, TheLongestBubblesBringMoreThanTheyCost) {
  ForecastJob job;
  job.costs = 0.4;  // 2.4 % in all
  job.heals = milliseconds(100);
  job.run(300);
  const double waited = job.waited, filled = job.filled;
  job.run(3000);
  EXPECT_LT((job.waited - waited) / (3000 * 200), 0.008);
  EXPECT_GT((job.filled - filled) / (3000 * 120), 0.7);
}

TEST(BudgetShare, WhatAGuardHealsIsNotPaid) {
  ForecastJob job;
  job.costs = 1;  // 6 % in all
  job.heals = milliseconds(10);
  job.run(300);
  const double waited = job.waited, filled = job.filled;
  job.run(3000);
  EXPECT_LT((job.waited - waited) / (3000 * 200), 0.003) << "only to try it again";
  EXPECT_GT((job.filled - filled) / (3000 * 120), 0.3);
}

TEST(BudgetShare, WhatItDoesNotHealTakesAwayBubbles) {
  ForecastJob job;
  job.costs = 2;  // of each bubble, 12 % in all
  job.heals = milliseconds(100);
  job.run(400);
  const double waited = job.waited;
  job.run(1000);
  EXPECT_LT((job.waited - waited) / (1000 * 200), 0.011);
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

// Nothing can be launched in the long bubbles, and the others are too short.
TEST(BudgetShare, IsLargerWhereItKeepsAllBubblesEmpty) {
  ForecastJob job;
  job.costs = 1;
  job.heals = milliseconds(100);
  while (job.budget.present().share > 1.0 / 8) {
    job.run(1);
    ASSERT_LT(job.number, 20'000U);
  }
  job.nothing_fits_beyond = milliseconds(10);
  const double filled = job.filled;
  job.run(2000);
  EXPECT_GT(job.filled, filled);
}

// So few may be filled that most iterations have none.
TEST(BudgetShare, IsLargerWhereItKeepsTheFewBubblesEmptyThatAreLeft) {
  ForecastJob job;
  job.costs = 2;
  job.heals = milliseconds(100);
  while (job.budget.present().share > 0.02) {
    job.run(1);
    ASSERT_LT(job.number, 20'000U);
  }
  job.nothing_fits_beyond = milliseconds(10);
  const double filled = job.filled;
  job.run(4000);
  EXPECT_GT(job.filled, filled);
}

// Then nothing is launched either, but not because bubbles are too short.
TEST(BudgetShare, IsNoLargerAfterWatchingHasUsedTheBudgetUp) {
  ForecastJob job;
  job.costs = 1;
  job.heals = milliseconds(10);
  job.run(300);
  const double share = job.budget.present().share;
  ASSERT_LT(share, 1);
  job.budget.leave_for_watching(0.02);
  for (int i = 0; i < 1000; ++i) {
    ++job.number;
    job.budget.kept_back();
    job.over(0);
  }
  job.budget.leave_for_watching(0);
  EXPECT_EQ(job.budget.present().share, share);
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
