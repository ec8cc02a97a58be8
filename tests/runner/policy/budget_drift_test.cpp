// The slowdown budget when iterations change their length for reasons of their own: drift, steps, what follows a break.
// In virtual time, with noise from a fixed seed; what the budget reports is compared with what fill really cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/runner/policy/main_job.h"

namespace weft {
namespace {

// A training whose iterations last `base(number)` without fill and `cost` longer with all bubbles filled.
struct Training : testing::MainJob {
  std::function<double(double)> base;
  double cost = 0, noise = 0.005;  // shares of an iteration
  std::uint64_t break_every = 0;   // an evaluation that is too short to have a rhythm; 0: none
  std::minstd_rand random{1};
  double longer = 0, without = 0;  // sums, without noise

  void train(std::uint64_t iterations) {
    std::normal_distribution<double> spread(0, noise);
    for (std::uint64_t end = number + iterations; number < end && changes[Budget::Change::stop] == 0;) {
      if (break_every != 0 && number % break_every == 0) rhythm_found(1);
      run(1, [&](double filled_share) {
        const double length = base(static_cast<double>(number));
        without += length;
        longer += length * cost * filled_share;
        return length * (1 + cost * filled_share) * std::max(0.5, 1 + spread(random));
      });
    }
  }
  // The real cost of fill since the last call.
  double truth() {
    const double share_longer = longer / without;
    longer = without = 0;
    return share_longer;
  }
  double reported() const {
    const auto slowdown = budget.present().slowdown;
    return slowdown ? slowdown->estimate : std::nan("");
  }
};

Training training(std::function<double(double)> base, double cost) {
  Training made;
  made.base = std::move(base);
  made.cost = cost;
  return made;
}

// Numbers of microbatches that change from iteration to iteration.
TEST(BudgetUnderDrift, IterationsOfOtherContentAreNotFillsFault) {
  const auto microbatches = [](std::uint64_t number) {
    const std::uint32_t counts[] = {8, 5, 12, 7, 9, 6, 16, 10};
    return counts[(number ^ number >> 3) % 8];
  };
  for (const double cost : {0.0, 0.002, 0.04}) {
    Training job =
        training([&](double number) { return 20.0 * (3 + microbatches(static_cast<std::uint64_t>(number))); }, cost);
    job.groups = [&](std::uint64_t number) { return 4 * microbatches(number) + 1; };
    job.train(3000);
    EXPECT_EQ(job.changes[Budget::Change::stop], 0) << cost;
    EXPECT_EQ(job.changes[Budget::Change::less] == 0, cost < 0.01) << cost;
    EXPECT_NEAR(job.reported(), cost * job.budget.present().share, 0.004) << cost;
  }
}

TEST(BudgetUnderDrift, ATrainingThatBecomesFasterHidesNoSlowdown) {
  Training fast = training([](double number) { return 400 * (1 - 1e-4 * number); }, 0.05);
  fast.train(300);
  EXPECT_LE(fast.budget.present().share, 0.25);
  fast.truth();
  fast.train(1200);
  EXPECT_EQ(fast.changes[Budget::Change::more], 0);
  EXPECT_LT(fast.truth(), 0.0125);

  Training slow = training([](double number) { return 400 * (1 - 0.5e-4 * number); }, 0.03);
  slow.train(3000);
  EXPECT_LT(slow.truth(), 0.0125);
  EXPECT_NEAR(slow.reported(), 0.03 * slow.budget.present().share, 0.003);
}

TEST(BudgetUnderDrift, ATrainingThatBecomesSlowerIsNotFillsFault) {
  for (const double drift : {0.3e-4, 0.5e-4, 1e-4}) {
    Training job = training([=](double number) { return 400 * (1 + drift * number); }, 0);
    job.train(3000);
    EXPECT_EQ(job.changes[Budget::Change::less], 0) << drift;
    EXPECT_EQ(job.changes[Budget::Change::stop], 0) << drift;
    EXPECT_NEAR(job.reported(), 0, 0.003) << drift;
  }
}

// Throttling, or a neighbour that comes or goes: at any place of the runs without fill, for good or for a while.
TEST(BudgetUnderDrift, AStepFromOutsideIsNotFillsFault) {
  for (std::uint64_t at = 1000; at < 1320; at += 11) {
    for (const double factor : {1.03, 0.97, 1.3, 0.7}) {
      Training job =
          training([=](double number) { return number < static_cast<double>(at) ? 400 : 400 * factor; }, 0.001);
      job.train(at + 700);
      EXPECT_EQ(job.changes[Budget::Change::less], 0) << at << " " << factor;
      EXPECT_EQ(job.changes[Budget::Change::stop], 0) << at << " " << factor;
    }
  }
}

// Iterations without a launch are not compared: of eight bubbles at least one is filled.
double of_filled_iterations(double share) {
  return std::max(share, 1.0 / 8);
}

// The same calls, and iterations that last otherwise from here on: no old iteration is compared with a new one.
TEST(BudgetUnderDrift, ALastingChangeOfTheLengthHidesNoSlowdown) {
  Training job = training([](double number) { return number < 60 ? 432.0 : 400.0; }, 0.06);
  job.train(500);
  EXPECT_LE(job.budget.present().share, 0.25);
  job.truth();
  job.train(2000);
  EXPECT_LT(job.truth(), 0.0125);
  EXPECT_NEAR(job.reported(), 0.06 * of_filled_iterations(job.budget.present().share), 0.003);
}

// Checkpoints that are written in the background, a cold loader: not only iterations without fill are next to them.
TEST(BudgetUnderDrift, WhatFollowsABreakHidesNoSlowdown) {
  Training job = training([](double number) { return std::fmod(number - 1, 30) < 4 ? 424.0 : 400.0; }, 0.05);
  job.break_every = 30;
  job.train(500);
  EXPECT_LT(job.budget.present().share, 1);
  job.train(1000);
  job.truth();
  job.train(1500);
  EXPECT_LT(job.truth(), 0.0125);
  EXPECT_NEAR(job.reported(), 0.05 * of_filled_iterations(job.budget.present().share), 0.003);
}

TEST(BudgetUnderDrift, WhatFollowsABreakIsNotFillsFault) {
  Training job = training([](double number) { return std::fmod(number - 1, 30) < 4 ? 424.0 : 400.0; }, 0.001);
  job.break_every = 30;
  job.train(3000);
  EXPECT_EQ(job.changes[Budget::Change::less], 0);
  EXPECT_GT(static_cast<double>(job.filled), 0.7 * 8 * 3000) << "8 of 30 go without fill";
}

TEST(BudgetUnderDrift, NoiseHidesASlowdownNotForEver) {
  Training job = training([](double) { return 400.0; }, 0.3);
  job.noise = 0.05;
  job.train(10'000);
  EXPECT_EQ(job.changes[Budget::Change::stop], 1);  // an eighth of it costs 4 %
}

// But once in some hundred thousand iterations.
TEST(BudgetUnderDrift, NoiseEndsNothingThatIsCheap) {
  int stopped = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Training job = training([](double) { return 400.0; }, 0.004);
    job.noise = 0.03;
    job.random.seed(seed);
    job.train(10000);
    stopped += job.changes[Budget::Change::stop];
  }
  EXPECT_LE(stopped, 1);
}

}  // namespace
}  // namespace weft
