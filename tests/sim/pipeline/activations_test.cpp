// The activations that ranks hold at most, by the published numbers of the schedules, and their copies to the host.
#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>
#include <vector>

#include "quiet_world.h"

namespace weft::pipeline {
namespace {

// Of each rank at most, in microbatches of a stage.
std::vector<double> most_held(const WorldOptions& options) {
  Nobody nobody;
  World world(options, nobody);
  world.run();
  std::vector<double> held;
  for (int rank = 0; rank < world.ranks(); ++rank)
    held.push_back(static_cast<double>(world.totals(rank).most_activations) /
                   static_cast<double>(options.activations.bytes.front()));
  return held;
}

std::vector<double> most_held(Schedule schedule, int microbatches) {
  WorldOptions options = without_messages(schedule);
  options.schedule.microbatches = microbatches;
  return most_held(options);
}

TEST(Activations, OfGpipeAreThoseOfAllMicrobatches) {
  EXPECT_EQ(most_held(Schedule::gpipe, 8), (std::vector<double>{8, 8, 8, 8}));
  EXPECT_EQ(most_held(Schedule::gpipe, 20), (std::vector<double>{20, 20, 20, 20}));
}

TEST(Activations, Of1F1BAreAsManyAsThereAreStagesFromHereOn) {
  EXPECT_EQ(most_held(Schedule::one_f_one_b, 8), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(most_held(Schedule::one_f_one_b, 20), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(most_held(Schedule::one_f_one_b, 2), (std::vector<double>{2, 2, 2, 1}));
}

// Megatron's warm-up and one more: 2 (p - r - 1) + (v - 1) p + 1 stages of a microbatch.
TEST(Activations, OfInterleavedStagesAreThoseOfItsWarmUp) {
  EXPECT_EQ(most_held(Schedule::interleaved, 8), (std::vector<double>{11, 9, 7, 5}));
}

// Where weight gradients that wait keep all, the most is that of 1F1B's first rank, on every rank ("Zero Bubble
// Pipeline Parallelism", p M_B). With half of it the later ranks hold less.
TEST(Activations, OfZbH1AreOnNoRankMoreThanOfTheFirst) {
  WorldOptions options = without_messages(Schedule::zb_h1);
  options.activations.kept_for_weights = 1;
  EXPECT_EQ(most_held(options), (std::vector<double>{4, 4, 4, 4}));
  options.activations.kept_for_weights = 0.5;
  EXPECT_EQ(most_held(options), (std::vector<double>{4, 3.5, 3, 2.5}));
  options.activations.kept_for_weights = 0;
  EXPECT_EQ(most_held(options), (std::vector<double>{4, 3, 2, 1}));
}

// Two stages a rank: 2 p of them ("Pipeline Parallelism with Controllable Memory"), and 2 p + 1 (DualPipeV).
TEST(Activations, OfVShapedSchedulesAreTheSameOnAllRanks) {
  EXPECT_EQ(most_held(Schedule::zb_v, 8), (std::vector<double>{8, 8, 8, 8}));
  EXPECT_EQ(most_held(Schedule::zb_v, 20), (std::vector<double>{8, 8, 8, 8}));
  EXPECT_EQ(most_held(Schedule::dualpipe_v, 10), (std::vector<double>{9, 9, 9, 9}));
}

TEST(Activations, OfAnEvaluationAreNotKept) {
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.schedule.microbatches = 2;
  options.kinds = {.evaluate_every = 1, .evaluation_microbatches = 20};
  EXPECT_EQ(most_held(options), (std::vector<double>{2, 2, 2, 1}));
}

TEST(Activations, AreThoseOfTheLargestIteration) {
  WorldOptions options = without_messages(Schedule::gpipe);
  options.kinds.microbatches = {4, 12, 8};
  EXPECT_EQ(most_held(options), (std::vector<double>{12, 12, 12, 12}));
}

TEST(Activations, MayDifferFromStageToStage) {
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.activations.bytes = {100, 200, 300, 400};
  EXPECT_EQ(most_held(options), (std::vector<double>{4, 6, 6, 4}));
  options.activations.bytes = {100, 200};
  Nobody nobody;
  EXPECT_THROW(World(options, nobody), std::invalid_argument);
}

// Half of the stages go to the host at once, and are back two pieces ahead. So the last rank has three at its end,
// where backward passes follow each other; others have those of their second stage besides.
TEST(Offload, LeavesFewerActivations) {
  WorldOptions options = without_messages(Schedule::offload);
  options.activations.offload_bandwidth = 1e15;
  EXPECT_EQ(most_held(options), (std::vector<double>{7, 5, 3, 3}));
  options.schedule.schedule = Schedule::interleaved;
  EXPECT_EQ(most_held(options), (std::vector<double>{11, 9, 7, 5}));
}

TEST(Offload, WithFastCopiesTakesAsLongAsTheSameOrderWithoutThem) {
  WorldOptions options = without_messages(Schedule::offload);
  options.activations.offload_bandwidth = 1e15;
  Nobody nobody;
  World world(options, nobody);
  world.run();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(length_of_iteration(world, rank, 1), 57 * ten) << rank;
    EXPECT_LT(world.totals(rank).waited_for_copies, std::chrono::microseconds(1)) << rank;
  }
}

// One rank with two stages and two microbatches, in this order, in units of ten milliseconds (forward 1, backward 2):
//   F0.0 F1.0 B1.0 F0.1 B0.0 F1.1 B1.1 B0.1, where F0.1 is the forward pass of microbatch 1 in stage 0.
// Activations of stage 0 go to the host when their forward pass is over. They come back when the piece three before
// their backward pass is over (F1.0 and B0.0), and the copy to the host.
WorldOptions one_rank(double copy) {
  WorldOptions options = without_messages(Schedule::offload);
  options.schedule.ranks = 1;
  options.schedule.microbatches = 2;
  options.activations.bytes = {1'000'000};
  options.activations.offload_bandwidth = 1e6 / (copy * 0.01);
  return options;
}

struct Timing {
  Duration length, waited;
};
Timing timing_of(const WorldOptions& options) {
  Nobody nobody;
  World world(options, nobody);
  world.run();
  return {length_of_iteration(world, 0, 2), world.totals(0).waited_for_copies / options.iterations};
}

// 2.5: to the host 1 to 3.5, back 3.5 to 6, so B0.0 begins at 6 instead of 5. To the host 5 to 7.5, back 8 to 10.5;
// B0.1 begins at 11, when the piece before is over. 13 in all, of which 1 is idle.
TEST(Offload, ABackwardPassWaitsForItsCopy) {
  const Timing timing = timing_of(one_rank(2.5));
  EXPECT_EQ(timing.length, 13 * ten);
  EXPECT_EQ(timing.waited, ten);
}

// 4.5: 1 to 5.5 and 5.5 to 10, so B0.0 waits for 5. The engine is free at 5.5: 5.5 to 10; back from 12, when B0.0 is
// over, to 16.5. B0.1 could begin at 15. 18.5 in all, of which 6.5 are idle.
TEST(Offload, CopiesInOneDirectionComeOneAfterTheOther) {
  const Timing timing = timing_of(one_rank(4.5));
  EXPECT_EQ(timing.length, 37 * ten / 2);
  EXPECT_EQ(timing.waited, 13 * ten / 2);
}

TEST(Offload, HoldsUpNothingWhereCopiesAreShort) {
  const Timing timing = timing_of(one_rank(1));
  EXPECT_EQ(timing.length, 12 * ten);
  EXPECT_EQ(timing.waited, Duration{0});
}

// The calls that are told of the compute stream and those of copies.
class Copies final : public Nobody {
 public:
  void saw(int, const Event& event) override {
    const bool is_call = event.kind == EventKind::wait_issued || event.kind == EventKind::mark_issued ||
                         event.kind == EventKind::launch_noted;
    if (is_call && event.stream <= 3) told.emplace_back(event.kind, event.stream, event.nothing_launched);
  }
  std::vector<std::tuple<EventKind, StreamId, bool>> told;
};

// See copies.h of the shim: a marker ahead of a stream's first copy, none ahead of the next on it, and marked waits
// where a marker ahead of a copy was not reached.
TEST(Offload, IsToldAsTheShimWould) {
  WorldOptions options = one_rank(2.5);
  options.iterations = 2;
  Copies watcher;
  World world(options, watcher);
  world.run();
  constexpr StreamId compute = 1, to_host = 2, back = 3;
  using Told = std::tuple<EventKind, StreamId, bool>;
  // Nothing on the compute stream has a marker before, so the copies to the host wait for it without.
  const Told offloaded{EventKind::mark_issued, to_host, false};
  // Its first wait is for the copy to the host: behind the marker ahead of that.
  const Told reloaded{EventKind::wait_issued, back, false};
  const Told waits{EventKind::wait_issued, compute, false}, launches{EventKind::launch_noted, compute, false};
  // By now the compute stream has a marker, so that the next copy waits for both.
  const Told reloads{EventKind::wait_issued, back, true};
  // In the second iteration all markers but those of this iteration were reached. No marker tells when a copy to the
  // host is over then: the wait for it counts as a copy, and a marker tells its end.
  const Told counts{EventKind::mark_issued, back, true};
  const std::vector<Told> first{offloaded, reloaded, waits, launches, reloads, reloads, waits, launches};
  const std::vector<Told> second{counts, waits, launches, reloads, counts, waits, launches};
  std::vector<Told> expected = first;
  const auto add = [&](const std::vector<Told>& more) { expected.insert(expected.end(), more.begin(), more.end()); };
  add({waits, launches});  // sums and optimizer
  add(second);
  add({waits, launches});
  EXPECT_EQ(watcher.told, expected);
}

}  // namespace
}  // namespace weft::pipeline
