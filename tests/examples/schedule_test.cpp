// The trainer's schedules, interpreted for all ranks at once with the strictest communication that NCCL may show: a
// group is over only when the peers have begun the matching operations. Checks that nothing deadlocks, that every
// transfer meets its counterpart, and that every task runs exactly once, after what it needs.
#include "schedule.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace trainer {
namespace {

// A tensor at a stage boundary: direction, microbatch, and the stage (rank + chunk * ranks) that receives it.
using Tensor = std::tuple<Direction, int, int>;

class Interpreter {
 public:
  explicit Interpreter(const Pipeline& pipeline) : pipeline_(pipeline) {
    for (int rank = 0; rank < pipeline.ranks; ++rank) ranks_.push_back({make_program(pipeline, rank), 0, {}, {}, {}});
  }

  // Runs until nothing moves. True when every program came to its end and all communication is over.
  bool run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int rank = 0; rank < pipeline_.ranks; ++rank) moved = step(rank) || moved;
      for (int rank = 0; rank < pipeline_.ranks; ++rank) moved = finish_groups(rank) || moved;
    }
    for (const Rank& rank : ranks_) {
      if (rank.next != rank.program.size()) return false;
      for (const auto& [lane, queue] : rank.lanes)
        if (!queue.empty()) return false;
    }
    return true;
  }

  const std::multiset<std::tuple<int, Direction, int>>& computed() const { return computed_; }

 private:
  struct Rank {
    std::vector<Instruction> program;
    std::size_t next;
    std::map<Lane, std::deque<Instruction>> lanes;  // groups that were posted and are not over, in stream order
    std::set<int> over;                             // exchanges
    std::set<Tensor> arrived;
  };

  int stages() const { return pipeline_.ranks * pipeline_.chunks; }
  int stage(int rank, int chunk) const { return chunk * pipeline_.ranks + rank; }

  Tensor sent(int rank, const Transfer& t) const {
    return {t.direction, t.microbatch, stage(rank, t.chunk) + (t.direction == Direction::forward ? 1 : -1)};
  }
  Tensor received(int rank, const Transfer& t) const { return {t.direction, t.microbatch, stage(rank, t.chunk)}; }

  bool step(int number) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    if (rank.next == rank.program.size()) return false;
    const Instruction& i = rank.program[rank.next];
    switch (i.kind) {
      case Instruction::Kind::exchange:
        for (const Transfer& t : i.sends)
          EXPECT_TRUE(computed_.contains({stage(number, t.chunk), t.direction, t.microbatch})) << "sent too early";
        rank.lanes[i.lane].push_back(i);
        break;
      case Instruction::Kind::wait:
        if (!rank.over.contains(i.exchange)) return false;
        break;
      case Instruction::Kind::forward:
      case Instruction::Kind::backward:
        compute(number, i);
        break;
    }
    ++rank.next;
    return true;
  }

  void compute(int number, const Instruction& i) {
    const bool forward = i.kind == Instruction::Kind::forward;
    const Direction direction = forward ? Direction::forward : Direction::backward;
    const int here = stage(number, i.chunk);
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    const bool at_end = here == (forward ? 0 : stages() - 1);
    EXPECT_TRUE(at_end || rank.arrived.contains({direction, i.microbatch, here}))
        << "stage " << here << " is too early";
    EXPECT_TRUE(forward || computed_.contains({here, Direction::forward, i.microbatch})) << "backward before forward";
    computed_.insert({here, direction, i.microbatch});
  }

  // Ends the group at the head of each lane if all its operations have met their counterparts.
  bool finish_groups(int number) {
    bool moved = false;
    for (auto& [lane, queue] : ranks_[static_cast<std::size_t>(number)].lanes) {
      if (queue.empty()) continue;
      bool all = true;
      for (const Transfer& t : queue.front().sends) all = all && meets(number, t, true);
      for (const Transfer& t : queue.front().receives) all = all && meets(number, t, false);
      if (!all) continue;
      for (const Transfer& t : queue.front().sends) met_.insert({true, sent(number, t)});
      for (const Transfer& t : queue.front().receives) {
        met_.insert({false, received(number, t)});
        ranks_[static_cast<std::size_t>(number)].arrived.insert(received(number, t));
      }
      ranks_[static_cast<std::size_t>(number)].over.insert(queue.front().exchange);
      queue.pop_front();
      moved = true;
    }
    return moved;
  }

  // Is the counterpart in a group that runs now (head of its lane), or already over?
  bool meets(int number, const Transfer& t, bool send) const {
    const Tensor tensor = send ? sent(number, t) : received(number, t);
    if (met_.contains({!send, tensor})) return true;
    for (const auto& [lane, queue] : ranks_[static_cast<std::size_t>(t.peer)].lanes) {
      if (queue.empty()) continue;
      for (const Transfer& other : send ? queue.front().receives : queue.front().sends)
        if (other.peer == number && (send ? received(t.peer, other) : sent(t.peer, other)) == tensor) return true;
    }
    return false;
  }

  Pipeline pipeline_;
  std::vector<Rank> ranks_;
  std::multiset<std::tuple<int, Direction, int>> computed_;  // stage, direction, microbatch
  std::set<std::pair<bool, Tensor>> met_;                    // (send?, tensor) operations that are over
};

struct Case {
  ScheduleKind schedule;
  int ranks, microbatches, chunks;
};

class Schedules : public testing::TestWithParam<Case> {};

TEST_P(Schedules, RunsEveryTaskOnceAndNeverDeadlocks) {
  const Case& c = GetParam();
  Interpreter interpreter({c.schedule, c.ranks, c.microbatches, c.chunks});
  ASSERT_TRUE(interpreter.run());
  const auto tasks = static_cast<std::size_t>(2 * c.ranks * c.chunks * c.microbatches);
  EXPECT_EQ(interpreter.computed().size(), tasks);
  const std::set<std::tuple<int, Direction, int>> distinct(interpreter.computed().begin(),
                                                           interpreter.computed().end());
  EXPECT_EQ(distinct.size(), tasks);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int microbatches : {1, 2, 4, 7, 16}) {
      result.push_back({ScheduleKind::gpipe, ranks, microbatches, 1});
      result.push_back({ScheduleKind::one_f_one_b, ranks, microbatches, 1});
    }
  for (const int ranks : {2, 3, 4, 8})
    for (const int rounds : {1, 2, 4})
      for (const int chunks : {1, 2, 3}) result.push_back({ScheduleKind::interleaved, ranks, rounds * ranks, chunks});
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(cases()));

TEST(Schedules, InterleavedRefusesWhatItCannotDo) {
  EXPECT_TRUE(make_program({ScheduleKind::interleaved, 4, 6, 2}, 0).empty());
  EXPECT_TRUE(make_program({ScheduleKind::interleaved, 1, 4, 2}, 0).empty());
}

TEST(Schedules, OneForwardOneBackwardKeepsFewMicrobatchesAlive) {
  for (int rank = 0; rank < 4; ++rank) {
    int alive = 0, most = 0;
    for (const Instruction& i : make_program({ScheduleKind::one_f_one_b, 4, 16, 1}, rank)) {
      if (i.kind == Instruction::Kind::forward) most = std::max(most, ++alive);
      if (i.kind == Instruction::Kind::backward) --alive;
    }
    EXPECT_EQ(most, 4 - rank);
  }
}

}  // namespace
}  // namespace trainer
