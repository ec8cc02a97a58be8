// The estimate of the slowdown and its interval, against numbers worked out by hand.
#include "runner/policy/ratios.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft {
namespace {

using std::chrono::microseconds;

void add_run(Ratios& ratios, std::uint64_t run, const std::vector<int>& control, const std::vector<int>& filled) {
  for (const int length : control) ratios.add(run, true, microseconds(length));
  for (const int length : filled) ratios.add(run, false, microseconds(length));
}

Ratios ratios_of(const std::vector<int>& control, const std::vector<int>& filled) {
  Ratios ratios;
  add_run(ratios, 1, control, filled);
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

// 6 and 8: 24 - 1.96 * sqrt(48 * 15 / 12) = 8.8, so the interval begins at the 8th of 48 and ends at the 8th from
// above.
TEST(Slowdown, ItsIntervalLeavesOutBothEnds) {
  std::vector<int> filled;
  for (int length = 101; length <= 108; ++length) filled.push_back(length * 100);
  const auto slowdown = ratios_of(std::vector<int>(6, 10000), filled).slowdown();
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->estimate, 0.045, 1e-9);
  EXPECT_NEAR(slowdown->low, 0.02, 1e-9);  // six of each: the 8th is of the second
  EXPECT_NEAR(slowdown->high, 0.07, 1e-9);
}

TEST(Slowdown, IsNotKnownFromTooFew) {
  EXPECT_FALSE(Ratios().slowdown());
  EXPECT_FALSE(ratios_of({100}, std::vector<int>(16, 101)).slowdown());
  EXPECT_FALSE(ratios_of({100, 100}, {101, 101, 101}).slowdown());
  EXPECT_TRUE(ratios_of({100, 100}, std::vector<int>(16, 101)).slowdown());
}

TEST(Slowdown, OneLongIterationMovesItLittle) {
  std::vector<int> filled(16, 1010);
  filled[7] = 90000;
  const auto slowdown = ratios_of(std::vector<int>(6, 1000), filled).slowdown();
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->estimate, 0.01, 1e-9);
  EXPECT_NEAR(slowdown->high, 0.01, 1e-9);
}

// One run of iterations that have one of two contents, the second four times as long. Fill costs 1 %.
TEST(Slowdown, OnlyEquallyManyGroupsAreCompared) {
  Ratios ratios;
  const auto add = [&](bool control, int length, std::uint32_t groups) {
    ratios.add(1, control, microseconds(length), groups);
  };
  for (int i = 0; i < 3; ++i) {
    add(true, 1000, 20);
    add(true, 4000, 40);
  }
  for (int i = 0; i < 12; ++i) add(false, 4040, 40);
  for (int i = 0; i < 4; ++i) add(false, 1010, 20);
  add(false, 9999, 30);
  const auto slowdown = ratios.slowdown();
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->low, 0.01, 1e-9);
  EXPECT_NEAR(slowdown->estimate, 0.01, 1e-9);
  EXPECT_NEAR(slowdown->high, 0.01, 1e-9);
  EXPECT_EQ(slowdown->control, 6U);
  EXPECT_EQ(slowdown->filled, 16U);
  EXPECT_EQ(slowdown->runs, 1U);
}

// Each run on a machine that is twice as slow as for the one before.
TEST(Slowdown, ComparesWithinARunOnly) {
  Ratios ratios;
  for (int run = 1; run <= 4; ++run) {
    const int length = 1000 << run;
    add_run(ratios, static_cast<std::uint64_t>(run), std::vector<int>(4, length),
            std::vector<int>(8, length / 100 * 102));
  }
  ASSERT_TRUE(ratios.slowdown());
  EXPECT_NEAR(ratios.slowdown()->low, 0.02, 1e-9);
  EXPECT_NEAR(ratios.slowdown()->high, 0.02, 1e-9);
  EXPECT_EQ(ratios.slowdown()->runs, 4U);
}

// Two runs of 2 and 8: 16 - 1.96 * sqrt(2 * 16 * 11 / 12) = 5.4, the 5th of 32 from both ends.
TEST(Slowdown, TheIntervalOfSeveralRunsIsFromTheSumOfTheirVariances) {
  Ratios ratios;
  add_run(ratios, 1, {10000, 10000}, {10100, 10200, 10300, 10400, 10500, 10600, 10700, 10800});
  add_run(ratios, 2, {10000, 10000}, {10100, 10200, 10300, 10400, 10500, 10600, 10700, 10800});
  ASSERT_TRUE(ratios.slowdown());
  EXPECT_NEAR(ratios.slowdown()->low, 0.02, 1e-9);  // four of each
  EXPECT_NEAR(ratios.slowdown()->high, 0.07, 1e-9);
}

// Of both sides those next to the run.
TEST(Slowdown, ComparesWithWhatIsNextToTheRun) {
  Ratios ratios;
  const std::vector<int> near(16, 1010), far(16, 3000);
  add_run(ratios, 1, {}, far);
  add_run(ratios, 1, {}, near);
  add_run(ratios, 1, {1000, 1000}, near);
  add_run(ratios, 1, {}, far);
  EXPECT_NEAR(ratios.slowdown()->high, 0.01, 1e-9);
  EXPECT_EQ(ratios.slowdown()->filled, 32U);
}

TEST(Slowdown, IsOfTheLatestRuns) {
  Ratios ratios;
  for (std::uint64_t run = 1; run <= 40; ++run)
    add_run(ratios, run, std::vector<int>(6, 1000), std::vector<int>(16, run <= 35 ? 3000 : 1000));
  EXPECT_DOUBLE_EQ(ratios.slowdown()->high, 0.0);
  EXPECT_EQ(ratios.slowdown()->control, 36U);
  EXPECT_EQ(ratios.slowdown()->filled, 96U);
}

TEST(Slowdown, ARunWithNothingToCompareTakesNoRoom) {
  Ratios ratios = ratios_of(std::vector<int>(6, 1000), std::vector<int>(16, 1010));
  for (std::uint64_t run = 2; run <= 40; run += 2) {
    add_run(ratios, run, {}, std::vector<int>(16, 1010));
    add_run(ratios, run + 1, std::vector<int>(6, 1000), {});
  }
  EXPECT_EQ(ratios.slowdown()->runs, 1U);
}

TEST(Slowdown, WithTheFilledForgottenTheLatestRunIsComparedWithWhatComes) {
  Ratios ratios = ratios_of(std::vector<int>(6, 500), std::vector<int>(16, 700));
  add_run(ratios, 2, std::vector<int>(4, 1000), std::vector<int>(16, 1500));
  ratios.forget_filled();
  EXPECT_FALSE(ratios.slowdown());
  add_run(ratios, 2, {}, std::vector<int>(8, 1010));
  EXPECT_NEAR(ratios.slowdown()->estimate, 0.01, 1e-9);
  EXPECT_EQ(ratios.slowdown()->control, 4U);
}

}  // namespace
}  // namespace weft
