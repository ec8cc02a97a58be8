// Traffic that looks like a pipeline's and is not, or is one of another shape: names of it would be wrong, so there are
// none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "trace/names/names.h"

namespace weft {
namespace {

struct Call {
  CommunicatorId communicator = 1;
  Operation kind = Operation::send;
  std::int32_t peer = -1;
  std::uint64_t bytes = 65536;
};
using Calls = std::vector<Call>;

Call send(std::int32_t peer, CommunicatorId communicator = 1, std::uint64_t bytes = 65536) {
  return {communicator, Operation::send, peer, bytes};
}
Call receive(std::int32_t peer, CommunicatorId communicator = 1, std::uint64_t bytes = 65536) {
  return {communicator, Operation::receive, peer, bytes};
}
Call collective(Operation kind, CommunicatorId communicator = 1, std::uint64_t bytes = 8) {
  return {communicator, kind, -1, bytes};
}
Call sum(CommunicatorId communicator = 1) {
  return collective(Operation::all_reduce, communicator);
}
Calls operator+(Calls calls, const Calls& more) {
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}
Calls repeated(int times, const Calls& calls) {
  Calls all;
  for (int i = 0; i < times; ++i) all = all + calls;
  return all;
}

// A stage's messages of a pass in a communicator of `ranks`, with other calls between the two.
Calls forward(int stage, int stages, const Calls& others = {}) {
  return (stage > 0 ? Calls{receive(stage - 1)} : Calls{}) + others +
         (stage + 1 < stages ? Calls{send(stage + 1)} : Calls{});
}
Calls backward(int stage, int stages, const Calls& others = {}) {
  return (stage + 1 < stages ? Calls{receive(stage + 1)} : Calls{}) + others +
         (stage > 0 ? Calls{send(stage - 1)} : Calls{});
}
Calls one_f_one_b(int stage, int stages, int microbatches, const Calls& in_forward = {},
                  const Calls& in_backward = {}) {
  const int ahead = std::min(microbatches, stages - 1 - stage);
  Calls calls = repeated(ahead, forward(stage, stages, in_forward));
  for (int i = 0; i < microbatches; ++i) {
    if (ahead + i < microbatches) calls = calls + forward(stage, stages, in_forward);
    calls = calls + backward(stage, stages, in_backward);
  }
  return calls;
}

// The traces of a run whose ranks make these calls in each iteration.
class TracedRun {
 public:
  TracedRun(
      int ranks, std::vector<std::size_t> traces, const std::function<std::vector<CommunicatorRecord>(int)>& opened,
      const std::function<std::vector<Calls>(int)>& iterations,
      const std::function<Calls(int)>& outside = [](int) { return Calls(); })
      : iterations_(traces.size()) {
    std::vector<names::NamedRank> named;
    for (std::size_t trace = 0; trace < traces.size(); ++trace) {
      const int rank = static_cast<int>(traces[trace]);
      for (const CommunicatorRecord& record : opened(rank)) take(trace, record);
      add_groups(trace, outside(rank), 0);
      std::uint64_t number = 0;
      for (const Calls& calls : iterations(rank)) add_iteration(trace, calls, ++number);
      iterations_[trace].finish();
      named.push_back({rank, ranks, &iterations_[trace]});
    }
    names_ = std::make_unique<RunNames>(named);
  }
  // Of one communicator with all ranks.
  TracedRun(int ranks, const std::function<Calls(int)>& calls)
      : TracedRun(
            ranks, all(ranks), [ranks](int rank) { return std::vector{opened(1, rank, ranks, 16)}; },
            [calls](int rank) { return std::vector<Calls>(3, calls(rank)); }) {}

  static std::vector<std::size_t> all(int ranks) {
    std::vector<std::size_t> traces;
    for (int rank = 0; rank < ranks; ++rank) traces.push_back(static_cast<std::size_t>(rank));
    return traces;
  }
  static CommunicatorRecord opened(CommunicatorId number, int rank, int ranks, std::uint64_t id) {
    CommunicatorRecord record;
    record.communicator = number;
    record.rank = rank;
    record.ranks = ranks;
    record.id = id;
    return record;
  }

  const RunNames& names() const { return *names_; }
  std::size_t shapes(std::size_t trace) const { return iterations_[trace].shapes().size(); }
  std::vector<GroupName> groups(std::size_t trace, std::uint32_t shape = 0) const {
    return names_->groups(trace, shape);
  }
  // Messages that have a place in a schedule.
  std::size_t named(std::size_t trace, std::uint32_t shape) const {
    std::size_t count = 0;
    for (const GroupName& group : groups(trace, shape)) count += group.operations.front().message.has_value();
    return count;
  }
  std::size_t named() const {
    std::size_t count = 0;
    for (std::size_t trace = 0; trace < iterations_.size(); ++trace)
      for (std::uint32_t shape = 0; shape < shapes(trace); ++shape) count += named(trace, shape);
    return count;
  }

 private:
  template <class Record_>
  void take(std::size_t trace, const Record_& record) {
    iterations_[trace].take(Record(0, TimePoint{}, record));
  }
  void add_groups(std::size_t trace, const Calls& calls, std::uint64_t number) {
    for (const Call& call : calls) {
      GroupRecord group;
      group.id = ++last_group_;
      group.iteration = number;
      group.communicator = call.communicator;
      const bool is_message = names::is_message(call.kind);
      const auto counted =
          std::tuple(trace, call.communicator, is_message ? call.kind : Operation::all_reduce, call.peer);
      group.operations.add({call.kind, call.peer, call.bytes, ++sequences_[counted]});
      take(trace, group);
    }
  }
  void add_iteration(std::size_t trace, const Calls& calls, std::uint64_t number) {
    add_groups(trace, calls, number);
    Iteration iteration;
    iteration.number = number;
    iteration.groups = static_cast<std::uint32_t>(calls.size());
    take(trace, iteration);
  }

  std::vector<names::RankIterations> iterations_;
  std::unique_ptr<RunNames> names_;
  GroupId last_group_ = 0;
  std::map<std::tuple<std::size_t, CommunicatorId, Operation, std::int32_t>, std::uint64_t> sequences_;
};

// All by peer and number, and one note that says why.
void expect_none(const TracedRun& run, const std::string& why) {
  EXPECT_EQ(run.named(), 0u);
  ASSERT_EQ(run.names().notes().size(), 1u);
  EXPECT_NE(run.names().notes()[0].find(why), std::string::npos) << run.names().notes()[0];
}

// In both directions the calls are those of GPipe.
TEST(DoubtfulNames, OfIterationsThatMayBeginBetweenForwardAndBackward) {
  const auto begins_backward = [](const Calls& between, const Calls& last) {
    return TracedRun(
        4, [&](int rank) { return repeated(4, backward(rank, 4)) + between + repeated(4, forward(rank, 4)) + last; });
  };
  const std::string why = "begin with the forward or with the backward passes";
  expect_none(begins_backward({}, {collective(Operation::broadcast)}), why);
  expect_none(begins_backward({sum()}, {sum()}), why);
  const TracedRun right(
      4, [](int rank) { return repeated(4, forward(rank, 4)) + repeated(4, backward(rank, 4)) + Calls{sum()}; });
  EXPECT_EQ(right.named(), 4u * 12u);
  EXPECT_EQ(right.groups(0)[0].text(), "activation 1 of 4 to stage 1 (rank 1)");
}

TEST(DoubtfulNames, OfSumsInEachPassBetweenForwardAndBackward) {
  const auto opened = [](int rank) {
    return std::vector{TracedRun::opened(1, rank, 4, 16),
                       TracedRun::opened(2, 0, 2, 32 + static_cast<std::uint64_t>(rank))};
  };
  const TracedRun run(4, TracedRun::all(4), opened, [](int rank) {
    const Calls sums{sum(2)};
    return std::vector<Calls>(
        3, repeated(4, forward(rank, 4, sums)) + repeated(4, backward(rank, 4, sums)) + Calls{sum()});
  });
  EXPECT_EQ(run.named(), 4u * 12u);
}

TEST(DoubtfulNames, OfForwardAndBackwardOnCommunicatorsOfTheirOwn) {
  for (const std::uint64_t other_id : {8u, 32u}) {
    const auto opened = [&](int rank) {
      return std::vector{TracedRun::opened(1, rank, 4, 16), TracedRun::opened(2, rank, 4, other_id)};
    };
    const TracedRun run(4, TracedRun::all(4), opened, [](int rank) {
      Calls gradients = repeated(4, backward(rank, 4));
      for (Call& call : gradients) call.communicator = 2;
      return std::vector<Calls>(3, repeated(4, forward(rank, 4)) + gradients + Calls{sum()});
    });
    expect_none(run, "they go one way only");
  }
}

TEST(DoubtfulNames, OfABroadcastAlongAChain) {
  expect_none(TracedRun(4, [](int rank) { return Calls{sum()} + forward(rank, 4); }), "they go one way only");
}

TEST(DoubtfulNames, OfTwoRanksThatServe) {
  expect_none(
      TracedRun(
          2,
          [](int rank) {
            return (rank == 0 ? Calls{send(1), receive(1, 1, 8)} : Calls{receive(0), send(0, 1, 8)}) + Calls{sum()};
          }),
      "between two ranks");
  const auto answers = [](std::uint64_t bytes) {
    return TracedRun(2, [bytes](int rank) {
      Calls calls = one_f_one_b(rank, 2, 8);
      for (Call& call : calls)
        if ((call.kind == Operation::send) == (rank == 1)) call.bytes = bytes;
      return calls + Calls{sum()};
    });
  };
  expect_none(answers(8), "between two ranks");
  EXPECT_EQ(answers(65536).named(), 32u);
}

TEST(DoubtfulNames, OfAParameterServer) {
  expect_none(TracedRun(2,
                        [](int rank) {
                          return (rank == 1 ? repeated(5, {send(0)}) + repeated(5, {receive(0)})
                                            : repeated(5, {receive(1)}) + repeated(5, {send(1)})) +
                                 Calls{sum()};
                        }),
              "between two ranks");
}

TEST(DoubtfulNames, OfTensorsThatAreGroupsOfTheirOwn) {
  const auto twice = [](const Calls& calls) {
    Calls all;
    for (const Call& call : calls) all = all + Calls{call, call};
    return all;
  };
  expect_none(TracedRun(4, [&](int rank) { return twice(forward(rank, 4) + backward(rank, 4)) + Calls{sum()}; }),
              "of no schedule");
  expect_none(TracedRun(2,
                        [&](int rank) {
                          return twice(repeated(3, forward(rank, 2)) + repeated(3, backward(rank, 2))) + Calls{sum()};
                        }),
              "between two ranks");
  expect_none(TracedRun(4, [&](int rank) { return twice(one_f_one_b(rank, 4, 4)) + Calls{sum()}; }), "of no schedule");
}

// Ranks 4 to 7 of a communicator of eight are a pipeline.
TEST(DoubtfulNames, OfACommunicatorThatIsLargerThanThePipeline) {
  for (const int microbatches : {2, 8}) {
    const auto calls = [&](int rank) {
      Calls own = one_f_one_b(rank % 4, 4, microbatches);
      for (Call& call : own) call.peer += rank / 4 * 4;
      return std::vector<Calls>(3, own + Calls{sum()});
    };
    const auto opened = [](int rank) { return std::vector{TracedRun::opened(1, rank, 8, 16)}; };
    expect_none(TracedRun(8, {5}, opened, calls), "left no trace");
    expect_none(TracedRun(8, {5, 6}, opened, calls), "left no trace");
    EXPECT_GT(TracedRun(8, TracedRun::all(8), opened, calls).named(), 0u) << microbatches;
  }
}

TEST(DoubtfulNames, OfAPhaseBehindTheLastMessageOfTheFirstStage) {
  const auto opened = [](int rank) {
    return std::vector{TracedRun::opened(1, rank, 4, 16),
                       TracedRun::opened(2, 0, 2, 32 + static_cast<std::uint64_t>(rank)),
                       TracedRun::opened(3, rank, 4, 64)};
  };
  const TracedRun run(4, TracedRun::all(4), opened, [](int rank) {
    return std::vector<Calls>(3, one_f_one_b(rank, 4, 8, {sum(2)}, {sum(2)}) + Calls{sum(3)});
  });
  const std::vector<GroupName> first = run.groups(0);
  EXPECT_EQ(first[first.size() - 2].phase, Phase::unknown) << "a sum of the last backward pass";
  EXPECT_EQ(first.back().phase, Phase::optimizer);
  EXPECT_EQ(run.groups(1).back().phase, Phase::optimizer);
}

// Two pipelines of three stages; each stage has communicators with the same one of the other pipeline.
TEST(DoubtfulNames, OfCommunicatorsThatCarryOtherThingsThanSumsOfTensors) {
  const auto opened = [](int rank) {
    std::vector<CommunicatorRecord> all{TracedRun::opened(1, rank % 3, 3, 16 + static_cast<std::uint64_t>(rank / 3))};
    for (CommunicatorId number = 2; number <= 5; ++number)
      all.push_back(TracedRun::opened(number, rank / 3, 2, number * 32 + static_cast<std::uint64_t>(rank % 3)));
    return all;
  };
  const TracedRun run(6, TracedRun::all(6), opened, [](int rank) {
    const Calls in_forward{collective(Operation::all_gather, 2), collective(Operation::reduce_scatter, 3), sum(4)};
    const Calls in_backward{collective(Operation::reduce_scatter, 2), sum(4)};
    return std::vector<Calls>(3, one_f_one_b(rank % 3, 3, 4, in_forward, in_backward) + Calls{sum(5)});
  });
  for (const std::size_t trace : {0u, 1u, 3u, 4u}) {
    const std::map<CommunicatorId, Role> roles = run.names().roles(trace);
    EXPECT_EQ(roles.at(1), Role::pipeline);
    EXPECT_EQ(roles.at(2), Role::other) << "gathers in forward passes";
    EXPECT_EQ(roles.at(3), Role::other) << "scatters in forward passes";
    EXPECT_EQ(roles.at(4), Role::tensor);
    EXPECT_EQ(roles.at(5), Role::data);
  }
}

// The last rank's first iteration lacks its first microbatch.
TEST(DoubtfulNames, OfAnIterationThatDoesNotMatchThoseOfTheNeighbours) {
  const auto opened = [](int rank) { return std::vector{TracedRun::opened(1, rank, 3, 16)}; };
  const auto calls = [](int rank) { return one_f_one_b(rank, 3, 4) + Calls{sum()}; };
  const auto iterations = [&](int rank) {
    std::vector<Calls> all(4, calls(rank));
    if (rank == 2) all[0].erase(all[0].begin(), all[0].begin() + 2);
    return all;
  };
  const auto outside = [&](int rank) { return rank == 2 ? Calls{calls(2)[0], calls(2)[1]} : Calls{}; };
  const TracedRun run(3, TracedRun::all(3), opened, iterations, outside);
  ASSERT_EQ(run.shapes(2), 2u);
  EXPECT_EQ(run.named(2, 0), 0u);
  EXPECT_EQ(run.named(2, 1), 8u);
  EXPECT_EQ(run.named(1, 0), 16u);
  ASSERT_EQ(run.names().notes().size(), 1u);
  EXPECT_NE(run.names().notes()[0].find("do not match"), std::string::npos);
}

TEST(DoubtfulNames, OfIterationsWithFewerMicrobatchesOnAllRanksAreKnown) {
  const auto opened = [](int rank) { return std::vector{TracedRun::opened(1, rank, 3, 16)}; };
  const TracedRun run(3, TracedRun::all(3), opened, [](int rank) {
    std::vector<Calls> iterations(4, one_f_one_b(rank, 3, 6) + Calls{sum()});
    iterations[2] = one_f_one_b(rank, 3, 4) + Calls{sum()};
    iterations.push_back(repeated(2, forward(rank, 3)) + Calls{sum()});
    return iterations;
  });
  for (std::size_t trace = 0; trace < 3; ++trace) ASSERT_EQ(run.shapes(trace), 3u);
  EXPECT_EQ(run.named(1, 1), 16u);
  EXPECT_EQ(run.groups(1, 1)[0].text(), "activation 1 of 4 from stage 0 (rank 0)");
  EXPECT_EQ(run.groups(1, 2)[0].text(), "activation 1 of 2 from stage 0 (rank 0)") << "an evaluation";
  EXPECT_TRUE(run.names().notes().empty());
}

// Its ranks are those of the run in another order.
TEST(DoubtfulNames, OfPeersWithoutTraces) {
  const auto swapped = [](int rank) { return std::vector{TracedRun::opened(1, 2 - rank, 3, 16)}; };
  const auto straight = [](int rank) { return std::vector{TracedRun::opened(1, rank, 3, 16)}; };
  const auto in_order = [](int rank) { return std::vector<Calls>(3, one_f_one_b(rank, 3, 4) + Calls{sum()}); };
  const auto reversed = [&](int rank) { return in_order(2 - rank); };
  const TracedRun alone(3, {1}, swapped, reversed);
  EXPECT_EQ(alone.groups(0)[0].text(), "activation 1 of 4 from stage 0");
  EXPECT_EQ(TracedRun(3, TracedRun::all(3), swapped, reversed).groups(1)[0].text(),
            "activation 1 of 4 from stage 0 (rank 2)");
  EXPECT_EQ(TracedRun(3, {1, 2}, straight, in_order).groups(0)[0].text(), "activation 1 of 4 from stage 0 (rank 0)");
}

}  // namespace
}  // namespace weft
