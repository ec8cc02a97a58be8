// Fill jobs where there is memory for them: a stage that holds fewer activations has room for more.
#include "runner/model/memory.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/runner/model/four_gpus.h"

namespace weft::model {
namespace {

JobOptions job_of(std::uint64_t memory, std::uint64_t units = 0) {
  return {std::vector<Duration>(40, Duration{25'000}), {.units = units}, memory};
}

TEST(Memory, ThatIsLeftFollowsFromTheSchedule) {
  const Simulation result = simulate(four_gpus({job_of(0)}));
  ASSERT_EQ(result.stages.size(), 4u);
  for (std::size_t place = 0; place < 4; ++place) {
    EXPECT_EQ(result.stages[place].activations, (4 - place) * gib);
    EXPECT_EQ(result.stages[place].free, (6 + place) * gib);
  }
}

TEST(Memory, AJobThatFitsOnTheLastStageOnlyRunsThere) {
  const Simulation last = simulate(four_gpus({job_of(9 * gib)}));
  const Simulation all = simulate(four_gpus({job_of(6 * gib)}));
  for (std::size_t place = 0; place < 3; ++place) EXPECT_TRUE(last.stages[place].jobs.empty());
  EXPECT_EQ(last.stages[3].jobs, std::vector<std::size_t>{0});
  EXPECT_GT(last.jobs[0].units, 0u);
  EXPECT_LT(last.conversion, all.conversion / 3) << "three of four GPUs have no job";
  EXPECT_GT(last.conversion, all.conversion / 5);
}

TEST(Memory, AJobIsDoneWhenThoseGpusAreThatHaveRoomForIt) {
  const Simulation result = simulate(four_gpus({job_of(9 * gib, 5), job_of(10 * gib, 5)}));
  EXPECT_EQ(result.jobs[0].units, 5u);
  EXPECT_TRUE(result.jobs[0].ended);
  EXPECT_EQ(result.jobs[1].units, 0u);
  EXPECT_FALSE(result.jobs[1].ended) << "it fits nowhere";
}

// Both fit alone, and together on the last stage only.
TEST(Memory, AJobWaitsUntilTheOneBeforeItHasReleasedItsOwn) {
  const Simulation result = simulate(four_gpus({job_of(5 * gib, 10), job_of(4 * gib, 10)}));
  EXPECT_EQ(result.jobs[0].units, 40u);
  EXPECT_EQ(result.jobs[1].units, 40u);
  ASSERT_TRUE(result.jobs[0].ended && result.jobs[1].ended);
  EXPECT_GT(*result.jobs[1].ended, *result.jobs[0].ended);
  const Simulation endless = simulate(four_gpus({job_of(5 * gib), job_of(4 * gib, 10)}));
  EXPECT_EQ(endless.jobs[1].units, 10u) << "on the last stage";
}

TEST(Memory, WithoutALimitAllFit) {
  SimulationOptions options = four_gpus({job_of(1000 * gib)});
  options.memory.gpu = 0;
  const Simulation result = simulate(options);
  for (const StageMemory& stage : result.stages) EXPECT_EQ(stage.jobs.size(), 1u);
  EXPECT_GT(result.conversion, 0.8);
}

TEST(Memory, ATrainingThatDoesNotFitIsRefused) {
  SimulationOptions options = four_gpus({job_of(0)});
  options.memory.gpu = 13 * gib;
  EXPECT_THROW(simulate(options), std::invalid_argument);
  options.memory.parameters = {7 * gib, 8 * gib, 8 * gib, 8 * gib};
  EXPECT_EQ(simulate(options).stages[0].free, 0u);
  options.memory.parameters = {gib, gib};
  EXPECT_THROW(simulate(options), std::invalid_argument);
}

}  // namespace
}  // namespace weft::model
