// Whole pipelines in virtual time: what Weft fills of them, and what that costs.
#include "runner/model/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "runner/model/policies.h"

namespace weft::model {
namespace {

SimulationOptions pipeline_of(const std::string& schedule) {
  SimulationOptions options;
  options.run.warm_up = 8;
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = schedule_of(schedule);
  world.schedule.followers = branching(4);
  world.schedule.microbatches = 10;
  if (schedule == "interleaved" || schedule == "pipeoffload") world.schedule.microbatches = 8;
  world.iterations = 30;
  world.jitter = 0.05;
  return options;
}

class EachSchedule : public ::testing::TestWithParam<const char*> {};

TEST_P(EachSchedule, IsFilledUntilItsBubblesCloseAtLittleCost) {
  const Simulation result = simulate(pipeline_of(GetParam()));
  EXPECT_GT(result.idle_share, 0.03);
  EXPECT_GT(result.conversion_of_class[3], 0.94) << "bubbles from 5 ms";
  EXPECT_LT(result.slowdown, 0.004);
  EXPECT_GT(result.slowdown, -1e-9) << "fill makes nothing faster";
  EXPECT_GT(result.coverage, 0.97);
  EXPECT_GT(result.precision, 0.98);
  EXPECT_GT(result.as_forecast, 0.7);
  EXPECT_LT(result.as_forecast, 0.9);
}
INSTANTIATE_TEST_SUITE_P(Schedules, EachSchedule, ::testing::ValuesIn(pipeline::schedule_names),
                         [](const auto& schedule) {
                           std::string name = schedule.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Simulation, EqualOptionsGiveEqualNumbersAndOtherSeedsOthers) {
  SimulationOptions options = pipeline_of("1f1b");
  const Simulation first = simulate(options), second = simulate(options);
  EXPECT_EQ(first.conversion, second.conversion);
  EXPECT_EQ(first.slowdown, second.slowdown);
  EXPECT_EQ(first.looks, second.looks);
  options.run.world.seed = 2;
  EXPECT_NE(simulate(options).conversion, first.conversion);
}

TEST(Simulation, ABudgetOfNothingCostsNothing) {
  SimulationOptions options = pipeline_of("1f1b");
  options.slowdown_budget = 0;
  const Simulation result = simulate(options);
  EXPECT_EQ(result.slowdown, 0);
  EXPECT_EQ(result.conversion, 0);
}

TEST(Simulation, ASmallerBudgetCostsLessAndBringsLess) {
  SimulationOptions options = pipeline_of("1f1b");
  const Simulation usual = simulate(options);
  options.slowdown_budget = 0.0005;
  const Simulation small = simulate(options);
  EXPECT_LT(small.slowdown, usual.slowdown);
  EXPECT_LT(small.conversion, usual.conversion);
  EXPECT_GT(small.conversion, 0.8);
}

// Its schedulers take a receive that waits for work.
TEST(Simulation, TheOtherSystemsThatDecideFillLess) {
  SimulationOptions options = pipeline_of("1f1b");
  const Simulation weft = simulate(options);
  for (const std::string& name : baselines()) {
    options.policy = name;
    if (run_options_of(options).world.sharing.kind != pipeline::Sharing::Kind::alone) continue;
    const Simulation other = simulate(options);
    EXPECT_LT(other.conversion, weft.conversion) << name;
    EXPECT_LT(other.slowdown, 0.02) << name;
  }
  options.policy = "gating";
  EXPECT_LT(simulate(options).conversion, 0.01);
}

TEST(Simulation, AnotherSystemsSettingChangesWhatItFills) {
  SimulationOptions options = pipeline_of("1f1b");
  options.policy = "pipefill";
  const double usual = simulate(options).conversion;
  options.knob = 0.3;  // of a bubble, instead of 68 %
  EXPECT_NEAR(simulate(options).conversion, usual * 0.3 / 0.68, 0.03);
}

TEST(Simulation, WhatThereIsNotIsRefused) {
  EXPECT_THROW(schedule_of("2f2b"), std::invalid_argument);
  SimulationOptions options = pipeline_of("1f1b");
  options.policy = "none";
  EXPECT_THROW(simulate(options), std::invalid_argument);
}

}  // namespace
}  // namespace weft::model
