// The orders of schedules: each piece once, none waits for ever, and their idle time is that of the papers.
#include "sim/pipeline/schedules.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

namespace weft::pipeline {
namespace {

// Lengths of the three kinds of work.
struct Lengths {
  double forward = 1, input_gradient = 1, weight_gradient = 1;
};

// When each rank began and ended, and how long it computed; messages take no time. Fails where ranks wait for ever.
struct Ran {
  std::vector<double> began, ended, computed;
  double length = 0;
  bool is_over = true;
};

class Runner {
 public:
  Runner(const Orders& orders, const Lengths& lengths)
      : orders_(orders), lengths_(lengths), next_(orders.of_rank.size()), free_(orders.of_rank.size()) {
    run_.began.assign(next_.size(), -1);
    run_.ended.resize(next_.size());
    run_.computed.resize(next_.size());
  }
  Ran run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t rank = 0; rank < next_.size(); ++rank)
        while (step(rank)) progress = true;
    }
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      run_.is_over = run_.is_over && next_[rank] == orders_.of_rank[rank].size();
      run_.length = std::max(run_.length, run_.ended[rank]);
    }
    return run_;
  }

 private:
  double length_of(Work work) const {
    if (work == Work::forward) return lengths_.forward;
    if (work == Work::input_gradient) return lengths_.input_gradient;
    if (work == Work::weight_gradient) return lengths_.weight_gradient;
    return lengths_.input_gradient + lengths_.weight_gradient;
  }
  // Forward, and input gradient or backward, of a stage and microbatch.
  bool ended_at(bool forward, int stage, int microbatch, double& time) const {
    const auto found = ends_.find({forward, stage, microbatch});
    if (found == ends_.end()) return false;
    time = std::max(time, found->second);
    return true;
  }
  bool is_ready(const Piece& piece, double& time) const {
    bool ready = true;
    const auto need = [&](bool forward, int stage) {
      ready = ready && ended_at(forward, stage, piece.microbatch, time);
    };
    const auto at = static_cast<std::size_t>(piece.stage);
    if (piece.work == Work::forward) {
      for (const int source : orders_.sources[at]) need(true, source);
    } else if (piece.work == Work::weight_gradient) {
      need(false, piece.stage);
    } else {
      need(true, piece.stage);
      for (const int follower : orders_.followers[at]) need(false, follower);
    }
    return ready;
  }
  bool step(std::size_t rank) {
    if (next_[rank] == orders_.of_rank[rank].size()) return false;
    const Piece& piece = orders_.of_rank[rank][next_[rank]];
    double begin = free_[rank];
    if (!is_ready(piece, begin)) return false;
    if (run_.began[rank] < 0) run_.began[rank] = begin;
    free_[rank] = run_.ended[rank] = begin + length_of(piece.work);
    run_.computed[rank] += length_of(piece.work);
    if (piece.work != Work::weight_gradient)
      ends_[{piece.work == Work::forward, piece.stage, piece.microbatch}] = free_[rank];
    ++next_[rank];
    return true;
  }

  const Orders& orders_;
  const Lengths lengths_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;
  std::map<std::tuple<bool, int, int>, double> ends_;
  Ran run_;
};

Ran run_of(const ScheduleOptions& options, const Lengths& lengths = {}) {
  return Runner(orders_of(options), lengths).run();
}

constexpr Schedule chains[] = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,
                               Schedule::zb_v,  Schedule::dualpipe_v,  Schedule::offload};

class Schedules : public ::testing::TestWithParam<std::tuple<Schedule, int, int>> {
 protected:
  ScheduleOptions options() const {
    const auto [schedule, ranks, rounds] = GetParam();
    return {schedule, ranks, ranks * rounds};
  }
};

TEST_P(Schedules, HaveEachPieceOnce) {
  const Orders orders = orders_of(options());
  std::set<std::tuple<Work, int, int>> seen;
  for (std::size_t rank = 0; rank < orders.of_rank.size(); ++rank)
    for (const Piece& piece : orders.of_rank[rank]) {
      EXPECT_EQ(orders.rank_of_stage.at(static_cast<std::size_t>(piece.stage)), static_cast<int>(rank));
      EXPECT_TRUE(seen.insert({piece.work, piece.stage, piece.microbatch}).second);
    }
  for (int stage = 0; stage < static_cast<int>(orders.rank_of_stage.size()); ++stage)
    for (int microbatch = 0; microbatch < options().microbatches; ++microbatch) {
      const auto has = [&](Work work) { return seen.count({work, stage, microbatch}); };
      EXPECT_EQ(has(Work::forward), 1u);
      EXPECT_EQ(has(Work::input_gradient), has(Work::weight_gradient));
      EXPECT_EQ(has(Work::backward) + has(Work::input_gradient), 1u) << stage << " " << microbatch;
    }
}

TEST_P(Schedules, ComeToTheirEnd) {
  EXPECT_TRUE(run_of(options()).is_over);
}

INSTANTIATE_TEST_SUITE_P(All, Schedules,
                         ::testing::Combine(::testing::ValuesIn(chains), ::testing::Values(1, 2, 3, 4, 8, 16),
                                            ::testing::Values(2, 3, 5)));

// All stages together compute as long in each schedule.
ScheduleOptions four_ranks(Schedule schedule) {
  return {schedule, 4, 8};
}

TEST(IdleTime, OfGpipeAnd1F1BIsThatOfAWholeRoundOfStages) {
  EXPECT_EQ(run_of(four_ranks(Schedule::gpipe)).length, (8 + 3) * 3);
  EXPECT_EQ(run_of(four_ranks(Schedule::one_f_one_b)).length, (8 + 3) * 3);
}

TEST(IdleTime, OfInterleavedStagesIsHalfOfThatWithTwoChunks) {
  EXPECT_EQ(run_of(four_ranks(Schedule::interleaved), {0.5, 0.5, 0.5}).length, (8 + 1.5) * 3);
}

// (p - 1) (forward + input gradient - weight gradient), arXiv 2401.10241, table 2.
TEST(IdleTime, OfZbH1IsAThirdOfThatOf1F1B) {
  EXPECT_EQ(run_of(four_ranks(Schedule::zb_h1)).length, 8 * 3 + 3);
}

TEST(IdleTime, OfZbVIsNoneBetweenFirstAndLastPieceOfARank) {
  const Ran ran = run_of({Schedule::zb_v, 4, 8}, {0.5, 0.5, 0.5});
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(ran.ended[rank] - ran.began[rank], ran.computed[rank]) << "rank " << rank;
}

TEST(Graphs, OfBranchesOverlapThem) {
  // 0 to 1 and 2, which both go to 3.
  const ScheduleOptions branches{Schedule::graph, 4, 8, 1, {{1, 2}, {3}, {3}, {}}};
  const Orders orders = orders_of(branches);
  EXPECT_EQ(orders.sources[3], (std::vector<int>{1, 2}));
  const Ran ran = run_of(branches);
  EXPECT_TRUE(ran.is_over);
  EXPECT_EQ(ran.length, (8 + 2) * 3) << "as long as a chain of three";
}

TEST(Refused, AreNumbersThatAScheduleCannotHave) {
  EXPECT_THROW(orders_of({Schedule::interleaved, 4, 6}), std::invalid_argument);
  EXPECT_THROW(orders_of({Schedule::dualpipe_v, 4, 7}), std::invalid_argument);
  EXPECT_THROW(orders_of({Schedule::one_f_one_b, 0, 7}), std::invalid_argument);
  EXPECT_THROW(orders_of({Schedule::graph, 2, 7, 1, {{0}, {}}}), std::invalid_argument);
  EXPECT_THROW(orders_of({Schedule::graph, 2, 7, 1, {{1}}}), std::invalid_argument);
}

}  // namespace
}  // namespace weft::pipeline
