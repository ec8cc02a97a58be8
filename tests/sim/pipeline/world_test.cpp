// The world of virtual time against the orders of schedules, and what fill work delays.
#include "sim/pipeline/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "quiet_world.h"

namespace weft::pipeline {
namespace {

class Lengths : public ::testing::TestWithParam<std::tuple<Schedule, Duration>> {};

TEST_P(Lengths, OfIterationsAreThoseOfTheOrder) {
  Nobody nobody;
  World world(without_messages(std::get<0>(GetParam())), nobody);
  world.run();
  for (int rank = 0; rank < world.ranks(); ++rank)
    EXPECT_EQ(length_of_iteration(world, rank, 1), std::get<1>(GetParam())) << rank;
}

// schedules_test.cpp has the same numbers, in units; stages of interleaved, zb_v and dualpipe_v are whole ones here.
INSTANTIATE_TEST_SUITE_P(Schedules, Lengths,
                         ::testing::Values(std::tuple(Schedule::gpipe, 33 * ten),
                                           std::tuple(Schedule::one_f_one_b, 33 * ten),
                                           std::tuple(Schedule::interleaved, 57 * ten),
                                           std::tuple(Schedule::zb_h1, 27 * ten)));

TEST(FillWork, HoldsUpTheOtherRanksByMessagesOnly) {
  Nobody watcher;
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  World world(options, watcher);
  watcher.wake = [&](int rank, TimePoint now) { world.take_gpu(rank, now, now + ten / 2); };
  world.wake(2, TimePoint{Duration{1'000'000} + 33 * ten + 15 * ten});
  world.run();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(length_of_iteration(world, rank, 1), 33 * ten + ten / 2) << rank;
    EXPECT_EQ(length_of_iteration(world, rank, 2), 33 * ten) << rank;
    EXPECT_EQ(world.totals(rank).delayed, rank == 2 ? ten / 2 : Duration{0});
  }
}

TEST(Changes, MakePiecesLongerForTheirIterations) {
  Nobody watcher;
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.iterations = 8;
  options.changes = {{.first = 2, .count = 2, .factor = 2}, {.first = 5, .count = 3, .every = 2, .factor = 1.5}};
  World world(options, watcher);
  world.run();
  const std::vector<int> expected{33, 66, 66, 33, 33 + 33 / 2, 33, 33 + 33 / 2};
  for (std::size_t i = 1; i < 8; ++i) {
    const bool half = i == 5 || i == 7;
    EXPECT_EQ(length_of_iteration(world, 0, i), expected[i - 1] * ten + (half ? ten / 2 : Duration{0})) << i;
  }
}

TEST(Changes, AStragglerHoldsUpAllRanksAndAStallIsWaitedForOnce) {
  Nobody watcher;
  WorldOptions options = without_messages(Schedule::gpipe);
  options.iterations = 6;
  options.changes = {{.first = 2, .place = 1, .factor = 2}, {.first = 4, .place = 0, .stall = 3 * ten}};
  World world(options, watcher);
  world.run();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(length_of_iteration(world, rank, 1), 33 * ten) << rank;
    EXPECT_GT(length_of_iteration(world, rank, 2), 50 * ten) << rank;
    EXPECT_EQ(length_of_iteration(world, rank, 3), 33 * ten) << rank;
    EXPECT_EQ(length_of_iteration(world, rank, 4), 36 * ten) << rank;
    EXPECT_EQ(length_of_iteration(world, rank, 5), 33 * ten) << rank;
  }
}

TEST(Changes, DriftAddsUp) {
  Nobody watcher;
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.iterations = 3;
  options.drift = 0.1;
  World world(options, watcher);
  world.run();
  EXPECT_NEAR(static_cast<double>(length_of_iteration(world, 0, 2).count()), 1.21 * 33e7, 100);
}

TEST(Jitter, IsTheSameWithAndWithoutFillWork) {
  WorldOptions options = without_messages(Schedule::zb_v);
  options.jitter = 0.1;
  const auto computed = [&](bool fills) {
    Nobody watcher;
    World world(options, watcher);
    watcher.wake = [&](int rank, TimePoint now) { world.take_gpu(rank, now, now + ten); };
    if (fills) world.wake(1, TimePoint{20 * ten});
    world.run();
    std::vector<Duration> all;
    for (int rank = 0; rank < 4; ++rank) all.push_back(world.totals(rank).computed);
    return all;
  };
  EXPECT_EQ(computed(false), computed(true));
}

// All events of each rank, in their order.
class Listener final : public Watcher {
 public:
  explicit Listener(int ranks) : events(static_cast<std::size_t>(ranks)) {}
  void saw(int rank, const Event& event) override {
    events[static_cast<std::size_t>(rank)].emplace_back(event.time, event.kind, event.ticket);
  }
  void woken(int /*rank*/, TimePoint /*now*/) override {}
  void computed(int /*rank*/, const Span& /*span*/) override {}

  std::vector<std::vector<std::tuple<TimePoint, EventKind, Ticket>>> events;
};

class EqualEvents : public ::testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(Schedules, EqualEvents, ::testing::Values(Schedule::one_f_one_b, Schedule::offload));

TEST_P(EqualEvents, OfReplicasOnAnyNumberOfThreads) {
  WorldOptions options = without_messages(GetParam());
  options.kinds = {.microbatches = {4, 8}, .evaluate_every = 2};
  options.latency = std::chrono::microseconds(20);
  options.gradient_bytes = 64 << 20;
  options.jitter = 0.1;
  options.replicas = 5;
  options.iterations = 6;
  const auto events = [&](int threads) {
    options.threads = threads;
    Listener listener(20);
    World world(options, listener);
    world.run();
    return listener.events;
  };
  const auto on_one = events(1);
  EXPECT_EQ(on_one, events(2));
  EXPECT_EQ(on_one, events(7));
  for (const auto& of_rank : on_one)
    EXPECT_TRUE(std::ranges::is_sorted(of_rank, {}, [](const auto& event) { return std::get<0>(event); }));
}

// With a straggler in one of them the gradients of its stage come late everywhere, and so do the iterations.
TEST(Replicas, WaitForEachOthersGradients) {
  Nobody watcher;
  WorldOptions options = without_messages(Schedule::gpipe);
  options.replicas = 3;
  options.iterations = 4;
  World alike(options, watcher);
  alike.run();
  options.jitter = 0.2;
  World different(options, watcher);
  different.run();
  for (std::size_t iteration = 1; iteration < 4; ++iteration) {
    EXPECT_EQ(length_of_iteration(alike, 0, iteration), 33 * ten) << iteration;
    for (int rank = 1; rank < different.ranks(); ++rank)
      EXPECT_EQ(different.totals(rank).iteration_ends.at(iteration), different.totals(0).iteration_ends.at(iteration));
  }
}

}  // namespace
}  // namespace weft::pipeline
