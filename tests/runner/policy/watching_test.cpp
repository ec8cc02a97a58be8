// The price of watching, and what follows from it: iterations in virtual time whose length depends on whether they are
// watched, as the schedule of control iterations has it.
#include "runner/policy/watching.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "runner/policy/control_schedule.h"

namespace weft {
namespace {

struct Job {
  Watching watching{0.01, std::chrono::microseconds(50)};
  std::uint64_t number = 0;
  std::vector<std::uint64_t> changes;
  std::mt19937_64 random{1};

  // `length` of an iteration that is watched or is not, in milliseconds.
  void run(std::uint64_t iterations, const std::function<double(bool dark)>& length, double spread = 0.002) {
    for (const std::uint64_t end = number + iterations; number < end;) {
      Iteration iteration;
      iteration.number = iteration.turn = iteration.since_found = ++number;
      iteration.dark = is_dark(number) || watching.looks() == Watching::Looks::ends;
      iteration.groups = 30;
      const double noise = std::normal_distribution(1.0, spread)(random);
      iteration.ended += Duration(static_cast<std::int64_t>(1e6 * noise * length(iteration.dark)));
      if (watching.ended(iteration)) changes.push_back(number);
    }
  }
};

TEST(Watching, IsMeasuredAgainstDarkIterations) {
  Job job;
  job.run(45, [](bool) { return 100.0; });
  EXPECT_FALSE(job.watching.cost().has_value()) << "none was dark yet";
  job.run(2000, [](bool dark) { return dark ? 100.0 : 100.4; });
  ASSERT_TRUE(job.watching.cost().has_value());
  EXPECT_NEAR(job.watching.cost()->estimate, 0.004, 0.001);
  EXPECT_GT(job.watching.least_cost(), 0.001);
  EXPECT_LT(job.watching.least_cost(), 0.004);
  EXPECT_TRUE(job.changes.empty()) << "within the budget";
}

TEST(Watching, ThatCostsNothingLeavesTheWholeBudget) {
  Job job;
  job.run(3000, [](bool) { return 100.0; });
  ASSERT_TRUE(job.watching.cost().has_value());
  EXPECT_NEAR(job.watching.cost()->estimate, 0, 0.001);
  EXPECT_LT(job.watching.least_cost(), 0.0005);
  EXPECT_TRUE(job.changes.empty());
}

TEST(Watching, BecomesLessWhereItCostsTooMuch) {
  Job job;
  job.run(400, [&](bool dark) { return dark || job.watching.looks() != Watching::Looks::all ? 100.0 : 102.0; });
  EXPECT_EQ(job.watching.looks(), Watching::Looks::fewer);
  EXPECT_EQ(job.changes, std::vector<std::uint64_t>{349}) << "with the third run of dark iterations";
  EXPECT_NEAR(job.watching.cost()->estimate, 0.02, 0.002) << "what led to it, until more is known";
  job.run(6000, [](bool) { return 100.0; });
  EXPECT_EQ(job.watching.looks(), Watching::Looks::fewer) << "that was enough";
}

TEST(Watching, EndsWhereLessIsStillTooMuch) {
  Job job;
  job.run(6000, [](bool dark) { return dark ? 100.0 : 102.0; });
  EXPECT_EQ(job.watching.looks(), Watching::Looks::ends);
  EXPECT_EQ(job.changes.size(), 2U);
}

// One disturbed run proves nothing: a checkpoint was written in its neighbourhood.
TEST(Watching, IsNotJudgedByOneRun) {
  Job job;
  job.run(140, [](bool dark) { return dark ? 100.0 : 110.0; });
  EXPECT_TRUE(job.changes.empty());
  job.run(1000, [](bool) { return 100.0; });
  EXPECT_TRUE(job.changes.empty());
}

TEST(Watching, NoiseAloneChangesNothing) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Job job;
    job.random.seed(seed);
    job.run(
        5000, [](bool) { return 100.0; }, 0.03);
    changed += job.changes.empty() ? 0 : 1;
  }
  EXPECT_LE(changed, 5) << "with a spread of three times the budget";
}

// It is asked again and again for weeks.
TEST(Watching, NoiseChangesNothingInALongRunEither) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Job job;
    job.random.seed(seed);
    job.run(
        50'000, [](bool dark) { return dark ? 100.0 : 100.3; }, 0.03);
    changed += job.changes.empty() ? 0 : 1;
  }
  EXPECT_LE(changed, 1);
}

// Dark ends are seen at other looks than watched ones: the median of short iterations lies on a grid.
TEST(Watching, TheGridOfLooksIsNoPrice) {
  Job job;
  job.run(
      6000, [](bool dark) { return dark ? 2.05 : 2.1; }, 0);
  EXPECT_TRUE(job.changes.empty()) << "of 2.1 ms 50 us are 2.4 %";
  EXPECT_LT(job.watching.least_cost(), 1e-6);
}

TEST(Watching, IsMeasuredOnlyWhereItWasDark) {
  Job job;
  for (std::uint64_t turn = 1; turn < 3000; ++turn) {
    Iteration iteration;
    iteration.number = iteration.turn = iteration.since_found = turn;
    iteration.ended += Duration(is_dark(turn) ? 100 : 200);
    EXPECT_FALSE(job.watching.ended(iteration));
  }
  EXPECT_FALSE(job.watching.cost().has_value()) << "nobody saw that those iterations were dark";
}

TEST(Watching, WithoutABudgetNeverChanges) {
  Job job;
  job.watching = Watching(std::numeric_limits<double>::infinity(), Duration(1));
  job.run(6000, [](bool dark) { return dark ? 100.0 : 150.0; });
  EXPECT_TRUE(job.changes.empty());
}

}  // namespace
}  // namespace weft
