// Intervals against distributions whose truth is known: as often as they promise they hold it, also where iterations
// that follow each other are alike; and they are no wider than they have to be.
#include "trace/compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

namespace weft {
namespace {

TEST(Statistics, StudentsQuantiles) {
  EXPECT_NEAR(student_quantile(1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(2), 4.30265, 1e-4);
  EXPECT_NEAR(student_quantile(10), 2.22814, 1e-4);
  EXPECT_NEAR(student_quantile(30), 2.04227, 1e-4);
  EXPECT_NEAR(student_quantile(1e6), 1.95997, 1e-3);
  EXPECT_LT(student_quantile(1.6), student_quantile(1.5));
}

TEST(Statistics, Quantiles) {
  const std::vector<double> one{3}, three{1, 2, 3}, four{1, 2, 3, 4};
  EXPECT_EQ(quantile(one, 0.5), 3);
  EXPECT_EQ(quantile(three, 0.5), 2);
  EXPECT_EQ(quantile(four, 0.5), 2.5);
  EXPECT_EQ(quantile(four, -0.3), 1);
  EXPECT_EQ(quantile(four, 1.3), 4);
}

TEST(Statistics, BlocksTakeEachValueOnce) {
  EXPECT_EQ(blocks_of(fewest_values - 1), 0U);
  for (const std::size_t values :
       {fewest_values, std::size_t{31}, std::size_t{59}, std::size_t{100}, std::size_t{9999}}) {
    const std::size_t blocks = blocks_of(values);
    ASSERT_GE(blocks, 10U);
    std::size_t next = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
      EXPECT_EQ(block_range(block, blocks, values).begin, next);
      next = block_range(block, blocks, values).end;
    }
    EXPECT_EQ(next, values);
  }
}

TEST(Statistics, NothingIsSaidOfFewValues) {
  EXPECT_FALSE(known_median(std::vector<double>(fewest_values - 1, 1.0)));
  EXPECT_FALSE(known_share(std::vector<double>(9, 1.0), std::vector<double>(9, 2.0)));
  EXPECT_FALSE(known_share(std::vector<double>(90, 1.0), std::vector<double>(90, 0.0)));
  EXPECT_TRUE(known_median(std::vector<double>(fewest_values, 1.0)));
}

TEST(Statistics, OfValuesThatAreAllTheSame) {
  const auto two = known_median(std::vector<double>(50, 2.0)), three = known_median(std::vector<double>(50, 3.0));
  const Interval change = relative_change(*two, *three);
  EXPECT_NEAR(change.value, 0.5, 1e-12);
  EXPECT_NEAR(change.low, 0.5, 1e-12);
  EXPECT_NEAR(change.high, 0.5, 1e-12);
  EXPECT_FALSE(change.has_zero());
  EXPECT_TRUE(relative_change(*two, *two).has_zero());
}

TEST(Statistics, ShareIsOfAllOfTheTime) {
  std::vector<double> parts, wholes;
  for (int i = 0; i < 100; ++i) {
    parts.push_back(i % 2 == 0 ? 1 : 6);
    wholes.push_back(i % 2 == 0 ? 10 : 30);
  }
  EXPECT_NEAR(known_share(parts, wholes)->value, 350.0 / 2000.0, 1e-12);
}

// A process of iterations: each is like the one before by `alike` (0: not at all), 3 % wide; some are eleven times as
// long.
struct Process {
  const char* name;
  int iterations = 0;
  double alike = 0;
  bool skewed = false, outliers = false;
  double drift = 0;  // a slow wave of this height, whose phase is another in each run
};
void PrintTo(const Process& process, std::ostream* out) {
  *out << process.name;
}

std::vector<double> run_of(const Process& process, double length, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> lengths;
  double state = normal(random);
  const double phase = 6.283 * uniform(random);
  for (int i = 0; i < process.iterations; ++i) {
    state = process.alike * state + std::sqrt(1 - process.alike * process.alike) * normal(random);
    double factor = process.skewed ? std::exp(0.03 * state) : 1 + 0.03 * state;
    if (process.outliers && uniform(random) < 0.05) factor += 10;
    factor += process.drift * std::sin(phase + 6.283 * 1.5 * i / process.iterations);
    lengths.push_back(length * factor);
  }
  return lengths;
}

class Coverage : public testing::TestWithParam<Process> {};

TEST_P(Coverage, IsNearlyWhatIsPromised) {
  constexpr int rounds = 1000;
  constexpr double truth = 0.04;
  std::mt19937_64 random(13);
  int held = 0, known = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> first = run_of(GetParam(), 1, random), second = run_of(GetParam(), 1 + truth, random);
    const auto before = known_median(first), after = known_median(second);
    if (!before || !after) continue;
    ++known;
    const Interval change = relative_change(*before, *after);
    if (change.low <= truth && truth <= change.high) ++held;
  }
  EXPECT_GE(known, 950) << GetParam().name;
  EXPECT_GE(held, 0.93 * known) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Statistics, Coverage,
                         testing::Values(Process{"independent_30", 30}, Process{"independent_80", 80},
                                         Process{"independent_400", 400}, Process{"alike_60", 60, 0.6},
                                         Process{"alike_200", 200, 0.6}, Process{"very_alike_100", 100, 0.9},
                                         Process{"very_alike_400", 400, 0.9}, Process{"skewed", 150, 0.3, true},
                                         Process{"outliers", 150, 0.3, false, true},
                                         Process{"drifting", 200, 0.3, false, false, 0.02}),
                         [](const auto& process) { return std::string(process.param.name); });

// Two runs of one kind, whose iterations are very alike: how often something differs all the same.
struct AlikeRuns {
  int iterations = 0;
  double alike = 0;
};
void PrintTo(const AlikeRuns& runs, std::ostream* out) {
  *out << runs.iterations << " iterations, alike by " << runs.alike;
}

class FalseAlarms : public testing::TestWithParam<AlikeRuns> {};

TEST_P(FalseAlarms, AreNotMoreThanPromised) {
  constexpr int rounds = 400;
  std::mt19937_64 random(37);
  const Process process{"alike", GetParam().iterations, GetParam().alike};
  int medians = 0, means = 0, shares = 0, trends = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> first = run_of(process, 1, random), second = run_of(process, 1, random);
    const std::vector<double> wholes(first.size(), 4.0);
    const auto differ = [](const auto& before, const auto& after) {
      return before && after && !relative_change(*before, *after).has_zero() ? 1 : 0;
    };
    medians += differ(known_median(first), known_median(second));
    means += differ(known_mean(first), known_mean(second));
    shares += difference(*known_share(first, wholes), *known_share(second, wholes)).has_zero() ? 0 : 1;
    const auto trend = known_trend(first);
    trends += trend && !trend->has_zero() ? 1 : 0;
  }
  EXPECT_LE(medians, 0.07 * rounds);
  EXPECT_LE(means, 0.07 * rounds);
  EXPECT_LE(shares, 0.07 * rounds);
  EXPECT_LE(trends, 0.09 * rounds);
}

INSTANTIATE_TEST_SUITE_P(Statistics, FalseAlarms,
                         testing::Values(AlikeRuns{60, 0}, AlikeRuns{400, 0.6}, AlikeRuns{30, 0.9}, AlikeRuns{60, 0.9},
                                         AlikeRuns{120, 0.9}, AlikeRuns{400, 0.9}, AlikeRuns{60, 0.95},
                                         AlikeRuns{60, 0.97}, AlikeRuns{120, 0.97}, AlikeRuns{400, 0.97},
                                         AlikeRuns{120, 0.99}, AlikeRuns{400, 0.99}));

TEST(Statistics, FindsATrend) {
  std::mt19937_64 random(41);
  int held = 0, seen = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<double> lengths = run_of({"alike", 200, 0.5, false, true}, 1, random);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] *= 1 + 0.1 * static_cast<double>(i) / 200;
    const auto trend = known_trend(lengths);
    ASSERT_TRUE(trend);
    held += trend->low <= 0.1 && 0.1 <= trend->high ? 1 : 0;
    seen += trend->has_zero() ? 0 : 1;
  }
  EXPECT_GE(held, 180);
  EXPECT_GE(seen, 195);
}

// Up and down: thirds of it differ.
TEST(Statistics, AWaveIsNoTrend) {
  std::mt19937_64 random(43);
  std::vector<double> lengths = run_of({"steady", 300}, 1, random);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] *= 1 + 0.05 * std::sin(6.283 * static_cast<double>(i) / 150);
  const auto trend = known_trend(lengths);
  EXPECT_TRUE(!trend || trend->has_zero());
}

TEST(Statistics, SharesAreHeldAsOften) {
  constexpr int rounds = 1000;
  std::mt19937_64 random(17);
  const Process idle{"idle", 120, 0.6}, length{"length", 120, 0.6};
  int held = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto share = [&](double of_length) {
      return *known_share(run_of(idle, of_length, random), run_of(length, 1, random));
    };
    const Interval change = difference(share(0.20), share(0.23));
    if (change.low <= 0.03 && 0.03 <= change.high) ++held;
  }
  EXPECT_GE(held, 930);
}

// Iterations of 0.1 s that are idle for 30 %; in some the GPU is idle for a stall besides. Two runs are alike.
int differ_by_chance(int iterations, double part, double stall, int rounds) {
  std::mt19937_64 random(31);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto share = [&] {
    std::vector<double> idle, lengths;
    for (int i = 0; i < iterations; ++i) {
      const double usual = 0.1 * (1 + 0.01 * normal(random)), more = uniform(random) < part ? stall : 0;
      lengths.push_back(usual + more);
      idle.push_back(0.3 * usual * (1 + 0.02 * normal(random)) + more);
    }
    return known_share(idle, lengths);
  };
  int differ = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto first = share(), second = share();
    if (first && second && !difference(*first, *second).has_zero()) ++differ;
  }
  return differ;
}

TEST(Statistics, StallsMakeNoDifferenceByThemselves) {
  constexpr int rounds = 400;
  EXPECT_LE(differ_by_chance(100, 0.01, 1, rounds), 0.07 * rounds);
  EXPECT_LE(differ_by_chance(200, 0.02, 5, rounds), 0.07 * rounds);
  EXPECT_LE(differ_by_chance(1000, 0.01, 1, rounds), 0.07 * rounds);
  EXPECT_LE(differ_by_chance(1000, 0.002, 5, rounds), 0.07 * rounds);
}

TEST(Statistics, OfManyClaimsEachHasAWiderInterval) {
  const Known one{0.2, 0.01, 12}, other{0.23, 0.01, 12};
  const Interval alone = difference(one, other), of_ten = difference(one, other, 10);
  EXPECT_GT(of_ten.high - of_ten.low, 1.3 * (alone.high - alone.low));
}

// Else an interval would hold everything. The best that is possible for independent values: 1.96 standard errors of two
// medians, each by sqrt(pi / 2) wider than a mean.
TEST(Statistics, IntervalsAreNotMuchWiderThanTheyHaveToBe) {
  std::mt19937_64 random(19);
  const Process process{"independent", 400};
  double width = 0;
  for (int round = 0; round < 200; ++round) {
    const Interval change =
        relative_change(*known_median(run_of(process, 1, random)), *known_median(run_of(process, 1, random)));
    width += (change.high - change.low) / 200;
  }
  const double best = 2 * 1.96 * 0.03 * std::sqrt(2 * 1.5708 / 400);
  EXPECT_LT(width, 1.5 * best);
  EXPECT_GT(width, 0.95 * best);
}

TEST(Statistics, ARunThatDriftsIsKnownLessWell) {
  std::mt19937_64 random(23);
  std::vector<double> steady = run_of({"steady", 300}, 1, random), drifting = steady;
  for (std::size_t i = 0; i < drifting.size(); ++i) drifting[i] *= 1 + 0.1 * static_cast<double>(i) / 300;
  const auto width = [](const std::vector<double>& lengths) {
    const KnownWithin known = *known_median(lengths);
    return known.high - known.low;
  };
  EXPECT_GT(width(drifting), 5 * width(steady));
}

TEST(Statistics, SharesStayWithinThoseThatCanBe) {
  const Interval change = difference({0.2, 0.5, 1}, {0.9, 0.5, 1});
  EXPECT_EQ(change.low, -0.2);
  EXPECT_EQ(change.high, 0.8);
}

// A starved host: iterations of 50 ms to seconds.
TEST(Statistics, OfAWildRunTheIntervalIsWideAndNoMore) {
  std::mt19937_64 random(29);
  std::normal_distribution<double> normal;
  std::vector<double> first, second;
  for (int i = 0; i < 50; ++i) {
    first.push_back(40 + 20 * std::exp(2 * normal(random)));
    second.push_back(40 + 20 * std::exp(2 * normal(random)));
  }
  const Interval change = relative_change(*known_median(first), *known_median(second));
  EXPECT_TRUE(change.has_zero());
  EXPECT_GT(change.low, -1);
  EXPECT_LT(change.high, 100);
}

TEST(Statistics, FarthestEndOfAnInterval) {
  EXPECT_EQ((Interval{0.1, -0.2, 0.4}.farthest()), 0.4);
  EXPECT_EQ((Interval{-0.1, -0.4, 0.2}.farthest()), 0.4);
}

}  // namespace
}  // namespace weft
