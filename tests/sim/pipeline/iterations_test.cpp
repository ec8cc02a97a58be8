// Iterations that differ: which kind each is, and how long it takes without jitter and messages.
#include "sim/pipeline/iterations.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "quiet_world.h"

namespace weft::pipeline {
namespace {

std::vector<std::size_t> kinds(const IterationOptions& options, int count) {
  std::vector<std::size_t> all;
  for (int iteration = 0; iteration < count; ++iteration) all.push_back(options.kind_of(iteration));
  return all;
}

TEST(Kinds, OfIterationsThatAreAlikeAreOne) {
  EXPECT_EQ(kinds({}, 4), (std::vector<std::size_t>{0, 0, 0, 0}));
}

TEST(Kinds, AreGoneThroughAgainAndAgain) {
  EXPECT_EQ(kinds({.microbatches = {4, 8, 12}}, 7), (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Kinds, OfARampUpEndWithTheLast) {
  EXPECT_EQ(kinds({.microbatches = {4, 8, 12}, .ramp_up = 2}, 9),
            (std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 2, 2, 2}));
}

TEST(Kinds, EvaluationsComeBetweenAndTheOthersGoOn) {
  EXPECT_EQ(kinds({.microbatches = {4, 8}, .evaluate_every = 3}, 10),
            (std::vector<std::size_t>{0, 1, 0, 2, 1, 0, 1, 2, 0, 1}));
}

TEST(Kinds, AreRefusedWhereTheScheduleCannotHaveOneOfThem) {
  const ScheduleOptions interleaved{Schedule::interleaved, 4, 8};
  EXPECT_NO_THROW(kinds_of(interleaved, {.microbatches = {4, 12}}));
  EXPECT_THROW(kinds_of(interleaved, {.microbatches = {4, 6}}), std::invalid_argument);
  EXPECT_THROW(kinds_of(interleaved, {.evaluate_every = 3, .evaluation_microbatches = 6}), std::invalid_argument);
  EXPECT_THROW(kinds_of({Schedule::dualpipe_v, 4, 8}, {.microbatches = {8, 7}}), std::invalid_argument);
}

class Evaluations : public ::testing::TestWithParam<Schedule> {};

TEST_P(Evaluations, HaveTheForwardPassesOnly) {
  const ScheduleOptions schedule{GetParam(), 4, 8};
  const std::vector<Orders> kinds = kinds_of(schedule, {.evaluate_every = 2, .evaluation_microbatches = 12});
  ASSERT_EQ(kinds.size(), 2u);
  const std::size_t stages_of_rank = kinds[1].rank_of_stage.size() / 4;
  for (const std::vector<Piece>& pieces : kinds[1].of_rank) {
    EXPECT_EQ(pieces.size(), 12 * stages_of_rank);
    for (const Piece& piece : pieces) EXPECT_EQ(piece.work, Work::forward);
  }
}

// A microbatch through all stages, and then one each ten milliseconds.
TEST_P(Evaluations, ComeToTheirEnd) {
  WorldOptions options = without_messages(GetParam());
  options.iterations = 7;
  options.kinds.evaluate_every = 2;
  Nobody nobody;
  World world(options, nobody);
  world.run();
  const std::size_t stages_of_rank = kinds_of(options.schedule, {}).front().rank_of_stage.size() / 4;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    EXPECT_EQ(length_of_iteration(world, rank, 4), length_of_iteration(world, rank, 1)) << rank;
    EXPECT_EQ(length_of_iteration(world, rank, 5), length_of_iteration(world, rank, 2)) << rank;
    if (stages_of_rank == 1) {
      EXPECT_EQ(length_of_iteration(world, rank, 2), (8 + 3) * ten) << rank;
    }
    EXPECT_LT(length_of_iteration(world, rank, 2), length_of_iteration(world, rank, 1)) << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Evaluations,
                         ::testing::Values(Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved,
                                           Schedule::zb_h1, Schedule::zb_v, Schedule::dualpipe_v, Schedule::offload));

TEST(Iterations, TakeAsLongAsTheirNumberOfMicrobatchesSays) {
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.iterations = 6;
  options.kinds.microbatches = {4, 16};
  Nobody nobody;
  World world(options, nobody);
  world.run();
  for (int rank = 0; rank < world.ranks(); ++rank)
    for (std::size_t iteration = 1; iteration < 6; ++iteration)
      EXPECT_EQ(length_of_iteration(world, rank, iteration), ((iteration % 2 == 0 ? 4 : 16) + 3) * 3 * ten) << rank;
}

// Signature, bytes and stream of each collective, in order.
class Collectives final : public Nobody {
 public:
  void saw(int rank, const Event& event) override {
    if (rank == 1 && event.kind == EventKind::group_issued && event.summary.collectives != 0)
      signatures.push_back(event.summary.signature);
  }
  std::vector<std::uint64_t> signatures;
};

TEST(Evaluations, EndWithASumThatIsNoneOfATrainingIteration) {
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.iterations = 4;
  options.kinds.evaluate_every = 1;
  Collectives watcher;
  World world(options, watcher);
  world.run();
  const std::vector<std::uint64_t>& all = watcher.signatures;
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0], all[3]);
  EXPECT_EQ(all[1], all[4]);
  EXPECT_EQ(all[2], all[5]);
  EXPECT_NE(all[2], all[0]);
  EXPECT_NE(all[2], all[1]);
}

// Replicas sum up losses, too.
TEST(Evaluations, EndAtOnceInAllPipelines) {
  WorldOptions options = without_messages(Schedule::one_f_one_b);
  options.replicas = 3;
  options.iterations = 6;
  options.jitter = 0.2;
  options.kinds.evaluate_every = 2;
  Nobody nobody;
  World world(options, nobody);
  world.run();
  for (std::size_t iteration = 0; iteration < 6; ++iteration)
    for (int rank = 1; rank < world.ranks(); ++rank)
      EXPECT_EQ(world.totals(rank).iteration_ends.at(iteration), world.totals(0).iteration_ends.at(iteration));
}

}  // namespace
}  // namespace weft::pipeline
