// From the groups of traces to bounds of clocks: which operations count, with which times.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "trace/clocks/clock_bounds.h"
#include "trace/read/join.h"

namespace weft {
namespace {

constexpr std::uint64_t pipeline = 0xabc;

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

CommunicatorRecord communicator(std::int32_t rank, std::uint64_t id = pipeline) {
  CommunicatorRecord record;
  record.communicator = 1;
  record.rank = rank;
  record.ranks = 2;
  record.id = id;
  return record;
}

GroupRecord group(const OperationRecord& operation, long begun, long ended, long within = 0) {
  GroupRecord record;
  record.communicator = 1;
  record.begun_known = record.ended_known = true;
  record.begun = at(begun);
  record.ended = at(ended);
  record.begun_within = record.ended_within = Duration(within);
  record.operations.add(operation);
  return record;
}

OperationRecord send(std::int32_t peer, std::uint64_t sequence, std::uint64_t bytes = 8) {
  return {Operation::send, peer, bytes, sequence};
}
OperationRecord receive(std::int32_t peer, std::uint64_t sequence, std::uint64_t bytes = 8) {
  return {Operation::receive, peer, bytes, sequence};
}

void add_rank_to(GroupJoiner& joiner, TraceClock clock, std::int32_t rank, const std::vector<GroupRecord>& groups,
                 std::uint64_t id = pipeline) {
  joiner.begin_process(clock);
  joiner.add(communicator(rank, id));
  for (const GroupRecord& record : groups) joiner.add(record);
  joiner.end_process();
}

struct JoinedRun {
  ClockBounds bounds;
  GroupJoiner joiner{GroupJoiner::usual_most, &bounds};

  void add_rank(TraceClock clock, std::int32_t rank, const std::vector<GroupRecord>& groups,
                std::uint64_t id = pipeline) {
    add_rank_to(joiner, clock, rank, groups, id);
  }
  PairBounds pair() {
    joiner.result();
    PairBounds pair = bounds.pairs().empty() ? PairBounds() : bounds.pairs().begin()->second;
    pair.finish();
    return pair;
  }
};

TEST(JoinedClocks, MessagesBoundTheClocksOfTheirRanks) {
  JoinedRun run;
  run.add_rank({0, Duration{}}, 0, {group(send(1, 1), 1000, 1900, 10), group(receive(1, 1), 2000, 2500, 10)});
  run.add_rank({1, Duration(7)}, 1,
               {group(receive(0, 1), 100'007, 101'207, 20), group(send(0, 1), 101'407, 102'007, 20)});
  const PairBounds pair = run.pair();
  ASSERT_EQ(pair.most().size(), 1U);
  EXPECT_EQ(pair.most()[0].time, at(990));
  EXPECT_EQ(pair.most()[0].ahead, Duration(101'220 - 990));
  ASSERT_EQ(pair.least().size(), 1U);
  EXPECT_EQ(pair.least()[0].time, at(2510));
  EXPECT_EQ(pair.least()[0].ahead, Duration(101'380 - 2510));
  EXPECT_TRUE(run.bounds.has_groups(0));
  EXPECT_FALSE(run.bounds.has_groups(2));
}

// Readers of files have a joiner each, and all of them the same bounds, to which none may write.
TEST(JoinedClocks, JoinersThatArePutTogetherBoundTheClocksLikeOne) {
  JoinedRun run;
  std::vector<GroupJoiner> readers(2, run.joiner);
  add_rank_to(readers[0], {3, Duration{}}, 0, {group(send(1, 1), 1000, 1900)});
  add_rank_to(readers[1], {1, Duration(7)}, 1, {group(receive(0, 1), 5107, 5957)});
  EXPECT_FALSE(run.bounds.has_groups(1) || run.bounds.has_groups(3));
  for (const GroupJoiner& reader : readers) run.joiner.add(reader);
  const PairBounds pair = run.pair();
  EXPECT_TRUE(pair.most().empty());
  ASSERT_EQ(pair.least().size(), 1U);  // from clock 3 to the base, clock 1
  EXPECT_EQ(pair.least()[0].time, at(5950));
  EXPECT_EQ(pair.least()[0].ahead, Duration(1000 - 5950));
  EXPECT_TRUE(run.bounds.has_groups(1) && run.bounds.has_groups(3));
  EXPECT_FALSE(run.bounds.has_groups(0));
}

TEST(JoinedClocks, CollectivesDoSoFromBothSides) {
  JoinedRun run;
  const OperationRecord all_reduce{Operation::all_reduce, -1, 8, 1};
  run.add_rank({0, Duration{}}, 0, {group(all_reduce, 1000, 1900)});
  run.add_rank({1, Duration{}}, 1, {group(all_reduce, 5100, 5950)});
  const PairBounds pair = run.pair();
  ASSERT_EQ(pair.most().size() + pair.least().size(), 2U);
  EXPECT_EQ(pair.most()[0].ahead, Duration(4950));
  EXPECT_EQ(pair.least()[0].ahead, Duration(3200));
  EXPECT_EQ(pair.collectives(), 1U);
}

TEST(JoinedClocks, TheRootOfABroadcastIsKnown) {
  JoinedRun run;
  const OperationRecord broadcast{Operation::broadcast, 1, 8, 1};
  run.add_rank({0, Duration{}}, 0, {group(broadcast, 1000, 1900)});
  run.add_rank({1, Duration{}}, 1, {group(broadcast, 5100, 5950)});
  const PairBounds pair = run.pair();
  EXPECT_TRUE(pair.most().empty());
  ASSERT_EQ(pair.least().size(), 1U);
  EXPECT_EQ(pair.least()[0].ahead, Duration(3200));
}

TEST(JoinedClocks, OperationsThatDoNotMoveAnythingOrDisagreeDoNotCount) {
  JoinedRun run;
  run.add_rank({0, Duration{}}, 0, {group(send(1, 1, 0), 1000, 1900), group(send(1, 2, 8), 2000, 2900)});
  run.add_rank({1, Duration{}}, 1, {group(receive(0, 1, 0), 5100, 5950), group(receive(0, 2, 16), 6100, 6950)});
  EXPECT_TRUE(run.pair().most().empty());
}

// Nobody knows where it stands, beside others that do.
TEST(JoinedClocks, ARankThatDoesNotKnowItsOffsetSaysNothingOfItsClock) {
  JoinedRun run;
  run.add_rank({0, Duration{}, false}, 0, {group(send(1, 1), 1000, 1900), group(receive(1, 1), 2000, 2500)});
  run.add_rank({1, Duration{}}, 1, {group(receive(0, 1), 5100, 5950), group(send(0, 1), 6100, 6500)});
  EXPECT_TRUE(run.pair().most().empty());
  EXPECT_TRUE(run.pair().least().empty());
  EXPECT_TRUE(run.bounds.has_groups(0));
}

TEST(JoinedClocks, NothingOfOneClockArrivesBeforeItIsSent) {
  constexpr long late = 5'000'000, start = 2 * late;
  JoinedRun sound, broken;
  for (const auto& [run, offset] : {std::pair{&sound, 0L}, std::pair{&broken, -late}}) {
    run->add_rank(
        {0, Duration{}}, 0,
        {group(send(1, 1), start + 1000, start + 1900, 10), group(receive(1, 1), start + 2000, start + 2500, 10)});
    run->add_rank({0, Duration{}}, 1,
                  {group(receive(0, 1), start + offset + 1100, start + offset + 1900, 20),
                   group(send(0, 1), start + offset + 2100, start + offset + 2500, 20)});
    run->joiner.result();
  }
  EXPECT_TRUE(sound.bounds.too_early().empty());
  ASSERT_EQ(broken.bounds.too_early().size(), 1U);
  EXPECT_EQ(broken.bounds.too_early().at(0).count, 1U);
  EXPECT_EQ(broken.bounds.too_early().at(0).most, Duration(late + 990 - 1920));
  EXPECT_TRUE(broken.bounds.pairs().empty());
}

TEST(JoinedClocks, NoRankOfOneClockIsThroughWithACollectiveBeforeAnotherBegins) {
  const OperationRecord all_reduce{Operation::all_reduce, -1, 8, 1};
  JoinedRun run;
  run.add_rank({0, Duration{}}, 0, {group(all_reduce, 1000, 1900)});
  run.add_rank({0, Duration{}}, 1, {group(all_reduce, 9'001'900, 9'005'950)});
  run.joiner.result();
  ASSERT_EQ(run.bounds.too_early().size(), 1U);
  EXPECT_EQ(run.bounds.too_early().at(0).most, Duration(9'000'000));
}

TEST(JoinedClocks, CommunicatorsThatAreNotKnownOnBothSidesGiveNothing) {
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{0xdef}}) {
    JoinedRun run;
    run.add_rank({0, Duration{}}, 0, {group(send(1, 1), 1000, 1900)});
    run.add_rank({1, Duration{}}, 1, {group(receive(0, 1), 5100, 5950)}, other);
    EXPECT_TRUE(run.pair().most().empty());
  }
}

}  // namespace
}  // namespace weft
