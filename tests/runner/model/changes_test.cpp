// Iterations that differ, and what Weft fills of them: evaluations between them, other numbers of microbatches, copies
// to the host.
#include <gtest/gtest.h>

#include "runner/model/simulation.h"

namespace weft::model {
namespace {

SimulationOptions four_stages(const std::string& schedule) {
  SimulationOptions options;
  options.run.warm_up = 30;
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = schedule_of(schedule);
  world.schedule.microbatches = 8;
  world.iterations = 100;
  world.jitter = 0.05;
  return options;
}

void expect_filled(const Simulation& result, double least) {
  EXPECT_GT(result.conversion, least);
  EXPECT_LT(result.slowdown, 0.004);
  EXPECT_GT(result.coverage, 0.97);
  EXPECT_GT(result.precision, 0.98);
  EXPECT_GT(result.as_forecast, 0.7);
  EXPECT_LT(result.as_forecast, 0.9);
}

class Changing : public ::testing::TestWithParam<const char*> {};

// The first three evaluations cost the rhythm.
TEST_P(Changing, EvaluationsBetweenIterations) {
  SimulationOptions options = four_stages(GetParam());
  options.run.world.kinds.evaluate_every = 5;
  expect_filled(simulate(options), 0.93);
}

TEST_P(Changing, NumbersOfMicrobatchesInTurn) {
  SimulationOptions options = four_stages(GetParam());
  options.run.world.kinds.microbatches = {8, 16};
  expect_filled(simulate(options), 0.93);
}

TEST_P(Changing, EvaluationsAndNumbersOfMicrobatches) {
  SimulationOptions options = four_stages(GetParam());
  options.run.world.kinds.microbatches = {8, 16, 12};
  options.run.world.kinds.evaluate_every = 5;
  options.run.world.kinds.evaluation_microbatches = 12;
  expect_filled(simulate(options), 0.93);
}

INSTANTIATE_TEST_SUITE_P(Schedules, Changing, ::testing::Values("gpipe", "1f1b", "interleaved", "zb-v"),
                         [](const auto& schedule) {
                           return schedule.param == std::string("zb-v") ? "zb_v" : schedule.param;
                         });

// Nobody sees what hosts wait for: no stream is in a group then.
TEST(Checkpoints, AreNeitherReportedNorFilled) {
  SimulationOptions options = four_stages("1f1b");
  const Simulation without = simulate(options);
  options.run.world.changes = {{.first = 10, .count = 100, .every = 10, .stall = std::chrono::seconds(1)}};
  const Simulation with = simulate(options);
  EXPECT_LT(with.coverage, 0.6);
  EXPECT_GT(with.precision, 0.98);
  EXPECT_LT(with.conversion, 0.6 * without.conversion);
  EXPECT_GT(with.gpu_equivalents, 0);
}

// Idle time in which a backward pass waits for its copy has no group under way, unless a receive was posted.
TEST(Offload, TimeInWhichCopiesAreWaitedForIsFilledWhereAReceiveIsUnderWay) {
  SimulationOptions options = four_stages("pipeoffload");
  const Simulation fast = simulate(options);
  expect_filled(fast, 0.93);
  options.run.world.activations.offload_bandwidth = 8e9;
  const Simulation slow = simulate(options);
  EXPECT_GT(slow.iteration_seconds, 1.1 * fast.iteration_seconds) << "copies take 67 ms";
  EXPECT_GT(slow.precision, 0.98);
  EXPECT_GT(slow.coverage, 0.9);
  EXPECT_LT(slow.coverage, 0.95) << "the last stage waits with no receive under way";
  EXPECT_GT(slow.conversion, 0.8);
}

}  // namespace
}  // namespace weft::model
