// Groups of several ranks held against each other: which are joined, which are not, and why.
#include "trace/read/join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/trace/temporary_directory.h"
#include "trace/read/summary.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

using Operations = std::vector<OperationRecord>;

constexpr std::uint64_t pipeline = 0xabc;

CommunicatorRecord communicator(std::int32_t rank, std::int32_t ranks = 2, std::uint64_t id = pipeline,
                                CommunicatorId number = 1) {
  CommunicatorRecord record;
  record.communicator = number;
  record.rank = rank;
  record.ranks = ranks;
  record.id = id;
  return record;
}

GroupRecord group(const Operations& operations, CommunicatorId number = 1) {
  GroupRecord record;
  record.communicator = number;
  for (const OperationRecord& operation : operations) record.operations.add(operation);
  return record;
}

OperationRecord send(std::int32_t peer, std::uint64_t sequence, std::uint64_t bytes = 8) {
  return {Operation::send, peer, bytes, sequence};
}
OperationRecord receive(std::int32_t peer, std::uint64_t sequence, std::uint64_t bytes = 8) {
  return {Operation::receive, peer, bytes, sequence};
}
OperationRecord collective(std::uint64_t sequence, std::uint64_t bytes = 8, Operation kind = Operation::all_reduce) {
  return {kind, -1, bytes, sequence};
}

void add_rank(GroupJoiner& joiner, const CommunicatorRecord& place, const std::vector<GroupRecord>& groups) {
  joiner.add(place);
  for (const GroupRecord& record : groups) joiner.add(record);
  joiner.end_process();
}

// Of two ranks of one communicator.
GroupJoin joined(const std::vector<GroupRecord>& first, const std::vector<GroupRecord>& second) {
  GroupJoiner joiner;
  add_rank(joiner, communicator(0), first);
  add_rank(joiner, communicator(1), second);
  return joiner.result();
}

std::uint64_t count(const GroupJoin& join, Unjoined reason) {
  return join.not_joined[static_cast<std::size_t>(reason)];
}

TEST(GroupJoin, TheKthSendIsTheKthReceive) {
  const GroupJoin join = joined({group({send(1, 1)}), group({send(1, 2, 16), receive(1, 1)})},
                                {group({receive(0, 1), send(0, 1)}), group({receive(0, 2, 16)})});
  EXPECT_EQ(join.recorded, 4u);
  EXPECT_EQ(join.joined, 4u);
  EXPECT_EQ(join.first_difference, "");
}

TEST(GroupJoin, ADirectionIsNotTheOther) {
  const GroupJoin join = joined({group({send(1, 1)})}, {group({send(0, 1)})});
  EXPECT_EQ(join.joined, 0u);
  EXPECT_EQ(count(join, Unjoined::not_recorded), 2u);
}

TEST(GroupJoin, OtherSizesAreADifference) {
  const GroupJoin join =
      joined({group({send(1, 1)}), group({send(1, 2)})}, {group({receive(0, 1)}), group({receive(0, 2, 4)})});
  EXPECT_EQ(join.joined, 2u);
  EXPECT_EQ(count(join, Unjoined::different), 2u);
  EXPECT_EQ(join.first_difference,
            "message 2 from rank 0 to rank 1 of communicator 0000000000000abc: send of 8 bytes on rank 0, receive of 4 "
            "bytes on rank 1");
}

TEST(GroupJoin, AMessageToItself) {
  const GroupJoin join = joined({group({send(0, 1), receive(0, 1)})}, {});
  EXPECT_EQ(join.joined, 1u);
}

TEST(GroupJoin, ACollectiveNeedsAllRanks) {
  GroupJoiner joiner;
  for (std::int32_t rank = 0; rank < 3; ++rank)
    add_rank(joiner, communicator(rank, 3), {group({collective(1)}), group({collective(2, 8, Operation::broadcast)})});
  EXPECT_EQ(joiner.result().joined, 6u);
  GroupJoiner without;
  for (std::int32_t rank = 0; rank < 2; ++rank) add_rank(without, communicator(rank, 3), {group({collective(1)})});
  EXPECT_EQ(count(without.result(), Unjoined::no_trace), 2u);
}

TEST(GroupJoin, OtherCollectivesAreADifference) {
  const GroupJoin join = joined({group({collective(5)})}, {group({collective(5, 8, Operation::broadcast)})});
  EXPECT_EQ(count(join, Unjoined::different), 2u);
  EXPECT_EQ(join.first_difference,
            "collective 5 of communicator 0000000000000abc: all_reduce of 8 bytes on rank 0, broadcast of 8 bytes on "
            "rank 1");
}

// A trace that ends earlier than the other, because its process was killed.
TEST(GroupJoin, WhatTheOtherRankHasNotRecorded) {
  const GroupJoin join = joined({group({send(1, 1)}), group({send(1, 2)})}, {group({receive(0, 1)})});
  EXPECT_EQ(join.joined, 2u);
  EXPECT_EQ(count(join, Unjoined::not_recorded), 1u);
}

// WEFT_TRACE_GROUPS=off there.
TEST(GroupJoin, ARankWithoutGroupsIsToldFromOneThatLacksSome) {
  EXPECT_EQ(count(joined({group({send(1, 1)}), group({receive(1, 1)})}, {}), Unjoined::no_groups), 2u);
  GroupJoiner joiner;
  add_rank(joiner, communicator(0, 3), {group({collective(1)}), group({collective(2)})});
  add_rank(joiner, communicator(1, 3), {group({collective(1)})});
  add_rank(joiner, communicator(2, 3), {});
  const GroupJoin join = joiner.result();
  EXPECT_EQ(count(join, Unjoined::no_groups), 2u);
  EXPECT_EQ(count(join, Unjoined::not_recorded), 1u);
}

TEST(GroupJoin, ARankWithoutATrace) {
  GroupJoiner joiner;
  add_rank(joiner, communicator(0), {group({send(1, 1)})});
  EXPECT_EQ(count(joiner.result(), Unjoined::no_trace), 1u);
}

TEST(GroupJoin, WhatCannotBeKnownIsSaid) {
  GroupRecord crowded = group({send(1, 1)});
  crowded.left_out = 3;
  const GroupJoin join =
      joined({crowded, group({send(1, 0)}), group({{Operation::put, 1, 8, 0}}), group({send(1, 9)}, 7)},
             {group({receive(0, 1)})});
  EXPECT_EQ(join.joined, 1u);
  EXPECT_EQ(count(join, Unjoined::left_out), 1u);
  EXPECT_EQ(count(join, Unjoined::no_sequence), 1u);
  EXPECT_EQ(count(join, Unjoined::one_sided), 1u);
  EXPECT_EQ(count(join, Unjoined::no_id), 1u);
}

// Each rank has its own numbers of communicators; pairs are told apart by their ids.
TEST(GroupJoin, ByTheIdOfTheCommunicatorAndNotItsNumber) {
  GroupJoiner joiner;
  joiner.add(communicator(0, 2, 0x1, 1));
  joiner.add(communicator(0, 2, 0x2, 2));
  joiner.add(group({send(1, 1, 100)}, 1));
  joiner.add(group({send(1, 1, 200)}, 2));
  joiner.end_process();
  joiner.add(group({receive(0, 1, 200)}, 1));  // before its communicator is known
  joiner.add(communicator(1, 2, 0x2, 1));
  joiner.end_process();
  joiner.add(communicator(1, 2, 0x1, 1));
  joiner.add(group({receive(0, 1, 100)}, 1));
  joiner.end_process();
  EXPECT_EQ(joiner.result().joined, 4u);
}

// Not those that come first: both sides of the same ones are kept, and what is wrong with a group is still said.
TEST(GroupJoin, BeyondTheBoundTheSameOperationsAreLookedAtOnAllRanks) {
  GroupJoiner joiner(150);
  std::vector<GroupRecord> sent, received;
  for (std::uint64_t k = 1; k <= 100; ++k) {
    sent.push_back(group({send(1, k), receive(1, k)}));
    received.push_back(group({receive(0, k), send(0, k)}));
  }
  received.push_back(group({send(0, 0)}));
  add_rank(joiner, communicator(0), sent);
  add_rank(joiner, communicator(1), received);
  const GroupJoin join = joiner.result();
  EXPECT_EQ(join.recorded, 201u);
  EXPECT_EQ(join.joined, 50u);
  EXPECT_EQ(join.not_looked_at, 150u);
  EXPECT_EQ(join.not_joined[static_cast<std::size_t>(Unjoined::no_sequence)], 1u);
}

// A process that is taken back while others were thinned out for it.
TEST(GroupJoin, AProcessThatIsTakenBackLeavesTheOthers) {
  GroupJoiner joiner(20);
  std::vector<GroupRecord> sent;
  for (std::uint64_t k = 1; k <= 16; ++k) sent.push_back(group({send(1, k)}));
  add_rank(joiner, communicator(0), sent);
  for (std::uint64_t k = 1; k <= 16; ++k) joiner.add(group({receive(0, k)}));
  joiner.forget_process();
  add_rank(joiner, communicator(1), {group({receive(0, 4)}), group({receive(0, 8)})});
  const GroupJoin join = joiner.result();
  EXPECT_EQ(join.recorded, 18u);
  EXPECT_EQ(join.joined, 4u);
  EXPECT_EQ(join.not_joined[static_cast<std::size_t>(Unjoined::not_recorded)], 6u);
  EXPECT_EQ(join.not_looked_at, 8u);
}

class Files : public testing::Test {
 protected:
  void write(std::int32_t rank, const std::vector<GroupRecord>& groups, const std::string& end = "") {
    std::string text;
    TraceHeader header;
    header.version = 2;
    header.rank = rank;
    header.ranks = 2;
    header.process = 100 + rank;
    append_header(text, header);
    append_record(text, Record(0, TimePoint{}, communicator(rank)));
    for (const GroupRecord& record : groups) append_record(text, Record(0, TimePoint{}, record));
    std::ofstream(directory / ("rank" + std::to_string(rank) + ".jsonl")) << text << end;
  }
  RunSummary run() const { return summarize_directories({directory.path()}); }
  static bool has_note(const RunSummary& run, const std::string& part) {
    return std::ranges::any_of(run.notes,
                               [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }
  test::TemporaryDirectory directory;
};

TEST_F(Files, OfARunAreJoined) {
  write(0, {group({send(1, 1)})});
  write(1, {group({receive(0, 1)})});
  EXPECT_EQ(run().groups.joined, 2u);
  EXPECT_NE(to_text(run(), "here").find("groups: 2 recorded, 2 joined with those of the other ranks\n"),
            std::string::npos);
}

TEST_F(Files, SayHowManyGroupsHaveNoRecord) {
  TraceSummary summary;
  summary.groups_thinned_out = 5;
  std::string line;
  append_summary(line, summary);
  write(0, {group({send(1, 1)})}, line);
  write(1, {group({receive(0, 1)})}, line);
  EXPECT_NE(to_text(run(), "here").find("  10 more became no record: communicators had too many in a second\n"),
            std::string::npos);
}

TEST_F(Files, WithoutGroupsSayNothingOfThem) {
  write(0, {});
  write(1, {});
  EXPECT_EQ(to_text(run(), "here").find("groups:"), std::string::npos);
  EXPECT_NE(to_json(run()).find("\"groups\": null"), std::string::npos);
}

TEST_F(Files, ThatBreakOffAreJoinedAsFarAsTheyGo) {
  write(0, {group({send(1, 1)}), group({send(1, 2)})});
  write(1, {group({receive(0, 1)})}, R"({"type": "group", "time": 0, "device": 0, "id": 2, "commun)");
  EXPECT_EQ(run().groups.joined, 2u);
  EXPECT_EQ(count(run().groups, Unjoined::not_recorded), 1u);
}

TEST_F(Files, WithGroupsThatCannotBeAreStillJoinedOtherwise) {
  write(0, {group({send(1, 1)})},
        R"({"type": "group", "operations": [{"kind": "send", "bytes": -5}]})"
        "\n"
        R"({"type": "group", "operations": 7})"
        "\n"
        R"({"type": "group", "operations": [3]})"
        "\n"
        R"({"type": "group", broken)"
        "\n");
  write(1, {group({receive(0, 1)})});
  EXPECT_EQ(run().groups.joined, 2u);
  EXPECT_TRUE(has_note(run(), "4 lines of groups or communicators cannot be used"));
  EXPECT_FALSE(run().ranks[0].unsure);
}

TEST_F(Files, ThatDisagreeAreNoted) {
  write(0, {group({send(1, 1, 5)})});
  write(1, {group({receive(0, 1, 6)})});
  EXPECT_TRUE(has_note(run(), "ranks disagree about 2 groups, first about message 1 from rank 0 to rank 1"));
}

// Sixteen operations each way, of which the last receive has other bytes.
std::vector<GroupRecord> many_groups(bool first) {
  std::vector<GroupRecord> groups;
  for (std::uint64_t sequence = 1; sequence <= 16; ++sequence) {
    const std::uint64_t bytes = !first && sequence == 16 ? 9 : 8;
    groups.push_back(group({first ? send(1, sequence) : receive(0, sequence, bytes)}));
  }
  return groups;
}

// Several threads have one each, and put them together in the end.
TEST(GroupJoin, OfSeveralReadersIsThatOfOne) {
  for (const std::size_t most : {std::size_t{1000}, std::size_t{20}, std::size_t{10}}) {
    GroupJoiner alone(most), one(most), other(most);
    add_rank(alone, communicator(0), many_groups(true));
    add_rank(alone, communicator(1), many_groups(false));
    add_rank(one, communicator(0), many_groups(true));
    add_rank(other, communicator(1), many_groups(false));
    GroupJoiner together(most);
    together.add(one);
    together.add(other);
    const GroupJoin expected = alone.result(), found = together.result();
    EXPECT_EQ(found.recorded, 32u);
    EXPECT_EQ(found.joined, expected.joined) << most;
    EXPECT_EQ(found.not_joined, expected.not_joined) << most;
    EXPECT_EQ(found.not_looked_at, expected.not_looked_at) << most;
    EXPECT_EQ(found.first_difference, expected.first_difference) << most;
    EXPECT_EQ(most == 1000, found.not_looked_at == 0);
  }
}

}  // namespace
}  // namespace weft
