// Fill work that is always on and shares the GPU with the training, against numbers by hand: two stages, one
// microbatch, forward passes of 10 ms, backward passes of 20. Each stage computes for 30 of 60 ms.
#include <gtest/gtest.h>

#include "runner/model/baselines/baselines.h"
#include "runner/model/policies.h"
#include "runner/model/simulation.h"

namespace weft::model {
namespace {

using std::chrono::microseconds;

SimulationOptions two_stages(const std::string& policy, Duration kernel = microseconds(25)) {
  SimulationOptions options;
  options.policy = policy;
  options.run.warm_up = 2;
  options.run.jobs = {{std::vector<Duration>(400, kernel), {}, {}}};
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.schedule = pipeline::Schedule::gpipe;
  world.schedule.ranks = 2;
  world.schedule.microbatches = 1;
  world.message_bytes = world.gradient_bytes = 0;
  world.latency = world.host_call = world.optimizer = Duration{0};
  world.iterations = 12;
  return options;
}

// All pieces are slower by the same, and so are the gaps, which are filled. Beside a piece a kernel has what that
// loses.
TEST(Mps, BesideEveryPieceTheTrainingIsSlowerByThePublishedPart) {
  const Simulation result = simulate(two_stages("mps"));
  EXPECT_NEAR(result.slowdown, 0.487, 0.002);
  const double lost = 1 - 1 / 1.487;
  EXPECT_NEAR(result.conversion, 1 + lost * 30 / 30, 0.005);
}

TEST(Mps, WithATenthOfTheThreadsBothGetOnByThat) {
  SimulationOptions options = two_stages("mps");
  options.knob = 0.1;
  const Simulation result = simulate(options);
  EXPECT_NEAR(result.slowdown, 1 / 0.9 - 1, 0.001);
  EXPECT_NEAR(result.conversion, 0.1 + 0.1, 0.001) << "in gaps, and beside pieces, which are as long";
}

// In an iteration the backward pass of the last stage and the optimizer steps begin where a kernel has just begun, and
// wait for all of it; three others begin at any time.
TEST(LowPriority, FillsAllIdleTimeAndDelaysPiecesByItsKernels) {
  for (const Duration kernel : {microseconds(25), microseconds(100), microseconds(400)}) {
    const Simulation result = simulate(two_stages("low-priority", kernel));
    const double part = std::chrono::duration<double, std::milli>(kernel).count() / 60;
    EXPECT_GT(result.slowdown, 2 * part) << kernel.count();
    EXPECT_LT(result.slowdown, 6 * part) << kernel.count();
    EXPECT_GT(result.conversion, 0.995) << kernel.count();
    EXPECT_LT(result.conversion, 1 + 8 * part) << kernel.count();
  }
}

// 4 pieces of the critical path and the optimizer step, which takes no time here, have 9 boundaries more each.
TEST(LowPriority, BetweenKernelsOfAPieceOneOfItsOwnGetsIn) {
  SimulationOptions options = two_stages("low-priority");
  const double whole = simulate(options).slowdown;
  options.knob = 10;
  EXPECT_NEAR(simulate(options).slowdown - whole, 5 * 9 * 0.025 / 60, 0.001);
}

TEST(Sharing, GivesEqualNumbersOnAnyNumberOfThreads) {
  for (const char* const policy : {"mps", "low-priority"}) {
    SimulationOptions options = two_stages(policy);
    options.run.world.replicas = 3;
    options.run.world.jitter = 0.1;
    options.run.world.gradient_bytes = 1 << 20;
    const Simulation one = simulate(options);
    options.run.world.threads = 2;
    const Simulation two = simulate(options);
    EXPECT_EQ(one.slowdown, two.slowdown) << policy;
    EXPECT_EQ(one.conversion, two.conversion) << policy;
  }
}

TEST(Sharing, IsThatOfTheTwoPoliciesOnly) {
  for (const std::string& name : baselines()) {
    const bool shares = run_options_of(two_stages(name)).world.sharing.kind != pipeline::Sharing::Kind::alone;
    EXPECT_EQ(shares, name == "mps" || name == "low-priority") << name;
  }
}

}  // namespace
}  // namespace weft::model
