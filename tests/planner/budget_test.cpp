// The slowdown budget: which iterations are compared, the estimate against numbers worked out by hand, and what the
// loop does with a main job that fill slows down, in virtual time.
#include "runner/budget.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;

std::vector<std::uint64_t> controls_up_to(std::uint64_t last) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t iteration = 0; iteration <= last; ++iteration)
    if (is_control(iteration)) numbers.push_back(iteration);
  return numbers;
}

TEST(ControlIterations, AreTheSameForAllRanks) {
  EXPECT_EQ(controls_up_to(150),
            (std::vector<std::uint64_t>{1, 2, 3, 40, 41, 42, 43, 44, 45, 136, 137, 138, 139, 140, 141, 142, 143}));
}

TEST(ControlIterations, AreOneInTwentyInTheLongRun) {
  EXPECT_EQ(controls_up_to(135 + 160 * 1000).size(), 3U + 6U + 8U * 1000);
}

Ratios ratios_of(const std::vector<int>& control, const std::vector<int>& filled) {
  Ratios ratios;
  for (const int length : control) ratios.add_control(microseconds(length));
  for (const int length : filled) ratios.add_filled(microseconds(length));
  return ratios;
}

// Sixteen ratios; the interval leaves none out.
TEST(Slowdown, IsTheMedianOfAllRatios) {
  const auto slowdown = ratios_of({100, 102, 104, 106}, {103, 105, 107, 109}).slowdown();
  ASSERT_TRUE(slowdown);
  // The two in the middle: 107/104 and 105/102.
  EXPECT_DOUBLE_EQ(slowdown->estimate, (107.0 / 104 + 105.0 / 102) / 2 - 1);
  EXPECT_DOUBLE_EQ(slowdown->low, 103.0 / 106 - 1);
  EXPECT_DOUBLE_EQ(slowdown->high, 109.0 / 100 - 1);
  EXPECT_EQ(slowdown->control, 4U);
  EXPECT_EQ(slowdown->filled, 4U);
}

// 8 and 8: 32 - 1.96 * sqrt(64 * 17 / 12) = 13.3, so the interval begins at the 13th of 64 and ends at the 13th from
// above.
TEST(Slowdown, ItsIntervalLeavesOutBothEnds) {
  std::vector<int> filled;
  for (int length = 101; length <= 108; ++length) filled.push_back(length * 100);
  const auto slowdown = ratios_of(std::vector<int>(8, 10000), filled).slowdown();
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->estimate, 0.045, 1e-9);
  EXPECT_NEAR(slowdown->low, 0.02, 1e-9);  // eight of each: the 13th is of the second
  EXPECT_NEAR(slowdown->high, 0.07, 1e-9);
}

TEST(Slowdown, IsNotKnownFromTooFew) {
  EXPECT_FALSE(Ratios().slowdown());
  EXPECT_FALSE(ratios_of({100}, std::vector<int>(64, 101)).slowdown());
  EXPECT_FALSE(ratios_of({100, 100}, {101, 101, 101}).slowdown());
  EXPECT_TRUE(ratios_of({100, 100}, std::vector<int>(16, 101)).slowdown());
}

TEST(Slowdown, OneLongIterationMovesItLittle) {
  std::vector<int> filled(20, 1010);
  filled[7] = 90000;
  const auto slowdown = ratios_of(std::vector<int>(8, 1000), filled).slowdown();
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->estimate, 0.01, 1e-9);
  EXPECT_NEAR(slowdown->high, 0.01, 1e-9);
}

TEST(Slowdown, IsOfTheLatestIterations) {
  Ratios ratios = ratios_of(std::vector<int>(40, 1000), std::vector<int>(100, 3000));
  for (int index = 0; index < 64; ++index) ratios.add_filled(microseconds(1000));
  EXPECT_DOUBLE_EQ(ratios.slowdown()->high, 0.0);
  EXPECT_EQ(ratios.slowdown()->control, 32U);
  EXPECT_EQ(ratios.slowdown()->filled, 64U);
}

Bubble bubble_of(std::uint64_t id, std::uint64_t iteration, std::uint64_t turn, std::uint64_t rhythm = 1) {
  Bubble bubble;
  bubble.id = id;
  bubble.iteration = iteration;
  bubble.turn = turn;
  bubble.rhythm = rhythm;
  return bubble;
}

// A main job of eight bubbles in each iteration; `length` says how long one lasts of which this share was filled.
struct MainJob {
  Budget budget{0.01};
  std::uint64_t number = 0, bubbles = 0, filled = 0, in_control = 0;
  std::uint64_t rhythm = 1, turn = 0;
  std::map<Budget::Change, int> changes;

  // Another rhythm, or the same one found again.
  void rhythm_found(std::uint64_t key) {
    rhythm = key;
    turn = 0;
  }

  void run(std::uint64_t iterations, const std::function<double(double)>& length) {
    for (std::uint64_t end = number + iterations; number < end && changes[Budget::Change::stop] == 0;) {
      ++number;
      ++turn;
      int used = 0;
      for (int bubble = 0; bubble < 8; ++bubble) {
        if (!budget.may_fill(bubble_of(++bubbles, number, turn, rhythm))) continue;
        budget.launched(number);
        ++used;
      }
      filled += static_cast<std::uint64_t>(used);
      if (is_control(turn)) in_control += static_cast<std::uint64_t>(used);
      Iteration iteration;
      iteration.number = number;
      iteration.turn = turn;
      iteration.rhythm = rhythm;
      iteration.ended += Duration(static_cast<std::int64_t>(1e6 * length(used / 8.0)));
      ++changes[budget.ended(iteration)];
    }
  }
};

TEST(Budget, IterationsWithoutFillAreWithoutFill) {
  MainJob job;
  job.run(1000, [](double) { return 100.0; });
  EXPECT_EQ(job.in_control, 0U);
  EXPECT_EQ(job.filled, 8 * (1000 - controls_up_to(1000).size()));
  EXPECT_DOUBLE_EQ(job.budget.present().slowdown->estimate, 0);
}

TEST(Budget, UnlimitedIsNeverWithoutFill) {
  MainJob job;
  job.budget = Budget(Budget::unlimited);
  job.run(200, [](double share) { return 100 + 90 * share; });
  EXPECT_EQ(job.filled, 8U * 200U);
  EXPECT_FALSE(job.budget.present().slowdown);
}

TEST(Budget, FillsLessUntilItIsKept) {
  MainJob job;
  job.run(2000, [](double share) { return 100 + 3 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 2);  // 3 %, 1.5 %, 0.75 %
  EXPECT_EQ(job.changes[Budget::Change::more], 0);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 0.25);
  EXPECT_NEAR(job.budget.present().slowdown->estimate, 0.0075, 0.0001);
}

TEST(Budget, StopsWhenNotEvenLittleIsCheapEnough) {
  MainJob job;
  job.run(2000, [](double share) { return share > 0 ? 105.0 : 100.0; });
  EXPECT_EQ(job.changes[Budget::Change::less], 3);
  EXPECT_EQ(job.changes[Budget::Change::stop], 1);
  EXPECT_LT(job.number, 200U);
  EXPECT_NEAR(job.budget.present().slowdown->low, 0.05, 1e-9);
}

TEST(Budget, NothingIsDecidedBeforeASecondLook) {
  MainJob job;
  job.run(43, [](double share) { return 100 + 50 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 0);
  job.run(1, [](double share) { return 100 + 50 * share; });
  EXPECT_EQ(job.changes[Budget::Change::less], 1);
}

TEST(Budget, FillsMoreAgainWhenItHasBecomeCheap) {
  MainJob job;
  job.run(300, [](double share) { return 100 + 4 * share; });
  EXPECT_LT(job.budget.present().share, 1.0);
  job.run(2000, [](double) { return 100.0; });
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1.0);
}

TEST(Budget, NoiseDoesNotStopIt) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    MainJob job;
    std::minstd_rand random(seed);
    std::normal_distribution<double> noise(0, 2);  // per cent of an iteration
    job.run(5000, [&](double share) { return 100 + 0.2 * share + noise(random); });
    EXPECT_EQ(job.changes[Budget::Change::stop], 0) << seed;
    EXPECT_GT(static_cast<double>(job.filled), 0.7 * 8 * 5000) << seed;
  }
}

TEST(Budget, ASlowdownIsFoundInNoise) {
  MainJob job;
  std::minstd_rand random(8);
  std::normal_distribution<double> noise(0, 2);
  std::uint64_t at_first = 0;
  for (int part = 0; part < 20; ++part) {
    job.run(1000, [&](double share) { return 100 + 4 * share + noise(random); });
    if (part == 0) at_first = job.filled;
  }
  EXPECT_LT(job.filled - at_first, 0.4 * 8 * 19000);  // of its bubbles a quarter costs 1 %
}

// The launches of a bubble at the edge belong to the iteration of the group that it waits for.
TEST(Budget, AnIterationWithoutALaunchIsNotComparedAsFilled) {
  Budget budget(0.01);
  for (std::uint64_t number = 1; number <= 36; ++number) {
    Iteration iteration;
    iteration.number = iteration.turn = number;
    iteration.rhythm = 1;
    iteration.ended += microseconds(100);
    if (number >= 5 && number % 2 == 0) budget.launched(number);
    if (number >= 5 && number % 2 == 1) budget.launched(number + 1);  // ahead of the end of this one
    budget.ended(iteration);
  }
  ASSERT_TRUE(budget.present().slowdown);
  EXPECT_EQ(budget.present().slowdown->filled, 16U);  // the even ones from 6 on
  EXPECT_EQ(budget.present().slowdown->control, 2U);
}

// A longer sequence: other sizes, and iterations that take twice as long.
TEST(Budget, IterationsOfTwoRhythmsAreNotCompared) {
  MainJob job;
  job.run(700, [](double) { return 400.0; });
  job.rhythm_found(2);
  job.run(700, [](double) { return 900.0; });
  EXPECT_EQ(job.changes[Budget::Change::less], 0);
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().slowdown->estimate, 0);
}

TEST(Budget, AShorterIterationHidesNoSlowdown) {
  MainJob job;
  job.run(700, [](double) { return 900.0; });
  job.rhythm_found(2);
  job.run(60, [](double share) { return share > 0 ? 440.0 : 400.0; });
  EXPECT_EQ(job.changes[Budget::Change::less], 1);
  job.run(1000, [](double share) { return share > 0 ? 440.0 : 400.0; });
  EXPECT_EQ(job.changes[Budget::Change::stop], 1);
}

TEST(Budget, TrainingAndEvaluationInTurnAreComparedEachWithItself) {
  MainJob job;
  for (int epoch = 0; epoch < 20; ++epoch) {
    job.rhythm_found(1);
    job.run(50, [](double share) { return 400 * (1 + 0.03 * share); });
    job.rhythm_found(2);
    job.run(20, [](double) { return 100.0; });
  }
  EXPECT_EQ(job.changes[Budget::Change::less], 2);  // of the training: 3 %, 1.5 %, 0.75 %
  EXPECT_EQ(job.changes[Budget::Change::stop], 0);
  EXPECT_DOUBLE_EQ(job.budget.present().share, 1);
  EXPECT_DOUBLE_EQ(job.budget.longest().share, 0.25);
  EXPECT_NEAR(job.budget.longest().slowdown->estimate, 0.0075, 0.0001);
}

// What is new is not known to be any cheaper than what went on before.
TEST(Budget, AnotherRhythmBeginsAtTheLevelOfTheOneBefore) {
  MainJob job;
  job.run(500, [](double share) { return 100 + 3 * share; });
  ASSERT_DOUBLE_EQ(job.budget.present().share, 0.25);
  for (std::uint64_t rhythm = 2; rhythm < 50; ++rhythm) {
    job.rhythm_found(rhythm);
    job.run(10, [](double share) { return 100 + 3 * share; });
    EXPECT_DOUBLE_EQ(job.budget.present().share, 0.25);
  }
}

TEST(Budget, WhatBelongsToNoIterationIsNotFilled) {
  MainJob job;
  job.run(20, [](double) { return 100.0; });
  EXPECT_TRUE(job.budget.may_fill(bubble_of(1, 21, 21)));
  EXPECT_FALSE(job.budget.may_fill(bubble_of(1, 0, 21)));
  EXPECT_FALSE(job.budget.may_fill(bubble_of(1, 0, 0, 0)));
  EXPECT_TRUE(Budget(Budget::unlimited).may_fill(bubble_of(1, 0, 21)));
}

// Its iterations without fill come first, even where its beginning was not reported.
TEST(Budget, ARhythmWithNothingToCompareWithIsNotFilled) {
  MainJob job;
  job.turn = 50;
  job.run(85, [](double) { return 100.0; });
  EXPECT_EQ(job.filled, 0U);
  job.run(50, [](double) { return 100.0; });
  EXPECT_GT(job.filled, 0U);
}

TEST(Budget, ALowLevelSpreadsEvenly) {
  MainJob job;
  job.run(130, [](double share) { return 100 + 100 * share; });
  ASSERT_LT(job.budget.present().share, 1.0);
  const auto every = static_cast<std::uint64_t>(1 / job.budget.present().share);
  for (std::uint64_t first = 1; first < 1000; ++first) {
    std::uint64_t filled = 0;
    for (std::uint64_t id = first; id < first + 5 * every; ++id)
      filled += job.budget.may_fill(bubble_of(id, 1000, 10)) ? 1U : 0U;
    EXPECT_GE(filled, 4U) << first;
    EXPECT_LE(filled, 6U) << first;
  }
}

}  // namespace
}  // namespace weft
