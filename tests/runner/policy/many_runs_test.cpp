// The mean of many runs and its standard error.
#include "runner/policy/many_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>

namespace weft {
namespace {

ManyRuns runs_of(std::size_t count, double estimate) {
  ManyRuns runs;
  for (std::size_t i = 0; i < count; ++i) runs.add(estimate, 6, 32);
  return runs;
}

TEST(ManyRuns, FewTellNothing) {
  EXPECT_FALSE(ManyRuns().mean());
  EXPECT_FALSE(runs_of(ManyRuns::fewest - 1, 0.01).mean());
  EXPECT_TRUE(runs_of(ManyRuns::fewest, 0.01).mean());
  ManyRuns runs = runs_of(ManyRuns::fewest, 0.01);
  runs.forget();
  EXPECT_FALSE(runs.mean());
}

// 6 and 32 weigh 192 / 38, 1 and 1 a half: two long runs are not many, whatever short ones there are.
TEST(ManyRuns, ManyShortOnesAreFew) {
  ManyRuns runs;
  for (int i = 0; i < 2; ++i) runs.add(0.01, 6, 32);
  for (int i = 0; i < 8; ++i) runs.add(0.05, 1, 1);
  EXPECT_FALSE(runs.mean());
}

// A quarter of eight at either end: 0.03 to 0.06 count.
TEST(ManyRuns, TheMeanIsOfTheHalfInTheMiddle) {
  ManyRuns runs;
  for (const double estimate : {0.03, 0.04, 0.9, 0.05, 0.06, -0.9, 0.01, 0.8}) runs.add(estimate, 6, 32);
  ASSERT_TRUE(runs.mean());
  EXPECT_NEAR(runs.mean()->estimate, 0.045, 1e-8);
  EXPECT_EQ(runs.mean()->control, 48U);
  EXPECT_EQ(runs.mean()->filled, 256U);
  EXPECT_EQ(runs.mean()->runs, 8U);
}

TEST(ManyRuns, ARunWeighsAsTheInverseOfItsVariance) {
  ManyRuns runs;
  for (int i = 0; i < 8; ++i) runs.add(0.01, 6, 32);
  for (int i = 0; i < 8; ++i) runs.add(0.05, 1, 2);
  // 0.667 of each 5.72 are of the second kind, all of them among the highest quarter.
  EXPECT_NEAR(runs.mean()->estimate, 0.01, 1e-8);
}

TEST(ManyRuns, TheLatestCount) {
  ManyRuns runs = runs_of(1000, 0.05);
  for (std::size_t i = 0; i < ManyRuns::most; ++i) runs.add(0.01, 6, 32);
  EXPECT_NEAR(runs.mean()->estimate, 0.01, 1e-8);
  EXPECT_NEAR(runs.mean()->error, 0, 1e-8);
}

// The same whichever way they are turned.
TEST(ManyRuns, TheErrorKnowsNoSide) {
  ManyRuns runs, turned;
  for (const double estimate : {0.01, 0.02, 0.04, 0.05, 0.09, 0.12, 0.2, 0.5}) {
    runs.add(estimate, 6, 32);
    turned.add(-estimate, 6, 32);
  }
  EXPECT_NEAR(runs.mean()->error, turned.mean()->error, 1e-8);
  EXPECT_NEAR(runs.mean()->estimate, -turned.mean()->estimate, 1e-8);
  EXPECT_NEAR(runs.mean()->freedom, 3, 1e-8);
}

// Eight of them tell it well enough, and the price has changed.
TEST(ManyRuns, NoMoreCountThanTheErrorTakes) {
  ManyRuns runs = runs_of(ManyRuns::most, 0.01);
  for (std::size_t i = 0; i < 20; ++i) runs.add(i % 2 == 0 ? 0.028 : 0.032, 6, 32);
  EXPECT_NEAR(runs.mean()->estimate, 0.01, 1e-8);
  EXPECT_NEAR(runs.mean(0.01)->estimate, 0.03, 1e-8);
  EXPECT_EQ(runs.mean(0.01)->runs, 8U);
  EXPECT_EQ(runs.mean(0.0011)->runs, 16U);
  EXPECT_EQ(runs.mean(1e-9)->runs, 128U);
}

// Of 2,000 such means nine in ten lie within 1.67 standard errors of the truth, or 2.02 where there are few: by
// Student's distribution with as many degrees of freedom as half the runs have.
TEST(ManyRuns, TheErrorIsThatOfTheMean) {
  std::minstd_rand random{1};
  std::normal_distribution<double> noise(0.002, 0.005);
  for (const std::size_t count : {std::size_t{12}, ManyRuns::most}) {
    int within = 0;
    for (int i = 0; i < 2000; ++i) {
      ManyRuns runs;
      for (std::size_t k = 0; k < count; ++k) runs.add(noise(random), 6, 32);
      const double quantile = count == 12 ? 2.015 : 1.669;
      within += std::abs(runs.mean()->estimate - 0.002) < quantile * runs.mean()->error;
    }
    EXPECT_NEAR(within, 1800, 80) << count;
  }
}

}  // namespace
}  // namespace weft
