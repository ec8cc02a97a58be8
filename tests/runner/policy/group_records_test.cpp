// From the events of a group to its record.
#include "runner/policy/group_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint(time);
}

struct Groups {
  GroupRecords records;
  Duration within = 10us;

  Event event(EventKind kind, GroupId group, Duration time) const {
    Event made{};
    made.kind = kind;
    made.group = group;
    made.communicator = 3;
    made.time = at(time);
    return made;
  }
  void observe(const Event& event) { records.observe(event, within); }
  void issue(GroupId group, Duration time, std::uint16_t sends = 1, Ticket done = 2) {
    Event issued = event(EventKind::group_issued, group, time);
    issued.summary.sends = sends;
    issued.ticket = done == 0 ? 0 : 1;
    issued.done_ticket = done;
    observe(issued);
  }
  void operations(GroupId group, Duration time, std::uint64_t sequence, bool two = false) {
    Event issued = event(EventKind::operations_issued, group, time);
    issued.operations[0] = {100, sequence, 1, Operation::send, true, {}};
    issued.operations[1] = {100, sequence + 1, 1, Operation::send, two, {}};
    observe(issued);
  }
  // A group that is over `length` later.
  void whole(GroupId group, Duration time, std::uint64_t sequence, Duration length = 5us) {
    issue(group, time);
    operations(group, time, sequence);
    observe(event(EventKind::group_started, group, time));
    observe(event(EventKind::group_done, group, time + length));
  }
};

TEST(GroupRecords, AGroupIsRecordedWhenItIsOver) {
  Groups groups;
  groups.issue(7, 1ms);
  groups.operations(7, 1ms, 41);
  groups.observe(groups.event(EventKind::group_started, 7, 2ms));
  EXPECT_TRUE(groups.records.take_ready().empty());
  groups.within = 20us;
  groups.observe(groups.event(EventKind::group_done, 7, 3ms));
  const auto ready = groups.records.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  const GroupRecord& record = ready[0];
  EXPECT_EQ(record.id, 7u);
  EXPECT_EQ(record.communicator, 3u);
  EXPECT_TRUE(record.begun_known && record.ended_known);
  EXPECT_EQ(record.begun, at(2ms));
  EXPECT_EQ(record.begun_within, Duration(10us));
  EXPECT_EQ(record.ended, at(3ms));
  EXPECT_EQ(record.ended_within, Duration(20us));
  ASSERT_EQ(record.operations.size(), 1u);
  EXPECT_EQ(record.operations.begin()->sequence, 41u);
  EXPECT_EQ(record.operations.begin()->bytes, 100u);
  EXPECT_EQ(record.left_out, 0u);
  EXPECT_TRUE(groups.records.take_ready().empty());
}

TEST(GroupRecords, OperationsThatDidNotComeAreCounted) {
  Groups groups;
  groups.issue(1, 1ms, 20);
  for (std::uint64_t pair = 0; pair < 4; ++pair) groups.operations(1, 1ms, 1 + 2 * pair, true);
  groups.observe(groups.event(EventKind::group_done, 1, 2ms));
  const auto& ready = groups.records.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].operations.size(), 8u);
  EXPECT_EQ(ready[0].left_out, 12u);
  EXPECT_FALSE(ready[0].begun_known);
}

// Where nothing may be enqueued.
TEST(GroupRecords, AGroupWithoutMarkersIsRecordedWithItsLastOperation) {
  Groups groups;
  groups.issue(1, 1ms, 3, 0);
  groups.operations(1, 1ms, 1, true);
  EXPECT_TRUE(groups.records.take_ready().empty());
  groups.operations(1, 1ms, 3);
  const auto& ready = groups.records.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_FALSE(ready[0].begun_known || ready[0].ended_known);
}

TEST(GroupRecords, AGroupThatIsNeverSeenToEndIsRecordedInTheEnd) {
  Groups groups;
  groups.issue(1, 1ms);
  groups.operations(1, 1ms, 5);
  groups.observe(groups.event(EventKind::group_started, 1, 2ms));
  groups.records.give_up(at(3ms));
  const auto& ready = groups.records.take_ready();
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_TRUE(ready[0].begun_known);
  EXPECT_FALSE(ready[0].ended_known);
}

TEST(GroupRecords, SoManyAreRememberedAndTheOldestIsGivenUp) {
  Groups groups;
  std::size_t ready = 0;
  for (GroupId group = 1; group <= 5000; ++group) {
    groups.issue(group, std::chrono::milliseconds(10) * group);
    ready += groups.records.take_ready().size();
  }
  EXPECT_EQ(ready, 5000u - 4096u);
}

TEST(GroupRecords, EventsOfUnknownGroupsAreHarmless) {
  Groups groups;
  groups.operations(9, 1ms, 1);
  groups.observe(groups.event(EventKind::group_done, 9, 2ms));
  groups.observe(groups.event(EventKind::group_done, 0, 2ms));
  groups.observe(groups.event(EventKind::host_wait_begun, 0, 2ms));
  EXPECT_TRUE(groups.records.take_ready().empty());
}

TEST(GroupRecords, APipelineIsNotThinnedOut) {
  Groups groups;
  std::size_t ready = 0;
  for (std::uint64_t group = 1; group <= 2000; ++group) {
    groups.whole(group, std::chrono::milliseconds(5) * group, group);
    ready += groups.records.take_ready().size();
  }
  EXPECT_EQ(ready, 2000u);
  EXPECT_EQ(groups.records.thinned_out(), 0u);
}

// 5000 groups in a second for ten seconds: some hundred are left in each, the same ones on a rank that is slower.
TEST(GroupRecords, ABusyCommunicatorIsThinnedOutAlikeOnAllRanks) {
  std::vector<std::uint64_t> kept[2];
  for (int rank = 0; rank < 2; ++rank) {
    Groups groups;
    for (std::uint64_t group = 1; group <= 50'000; ++group) {
      groups.whole(group, (200us + rank * 3us) * group, group);
      for (const GroupRecord& record : groups.records.take_ready())
        kept[rank].push_back(record.operations.begin()->sequence);
    }
    EXPECT_LT(kept[rank].size(), 4000u);
    EXPECT_GT(kept[rank].size(), 1000u);
    EXPECT_EQ(groups.records.thinned_out(), 50'000u - kept[rank].size());
  }
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(kept[0], kept[1], std::back_inserter(common));
  EXPECT_GT(common.size(), kept[0].size() * 9 / 10);
}

// 1F1B: one rank has the later message of the pair first, the other one the earlier.
TEST(GroupRecords, BothSidesOfAMessageAreLeftOver) {
  std::vector<std::uint64_t> kept[2];
  for (int rank = 0; rank < 2; ++rank) {
    Groups groups;
    for (std::uint64_t k = 2; k < 20'000; ++k) {
      groups.issue(k, 500us * k, 2);
      Event issued = groups.event(EventKind::operations_issued, k, 500us * k);
      issued.operations[0] = {8, rank == 0 ? k : k - 1, 1, Operation::send, true, {}};
      issued.operations[1] = {8, rank == 0 ? k - 1 : k, 1, Operation::receive, true, {}};
      groups.observe(issued);
      groups.observe(groups.event(EventKind::group_done, k, 500us * k));
      for (const GroupRecord& record : groups.records.take_ready()) kept[rank].push_back(record.id);
    }
    EXPECT_GT(groups.records.thinned_out(), 10'000u);
  }
  EXPECT_EQ(kept[0], kept[1]);
}

TEST(GroupRecords, AfterABusyTimeAllAreRecordedAgain) {
  Groups groups;
  for (std::uint64_t group = 1; group <= 5000; ++group) groups.whole(group, 200us * group, group);
  groups.records.take_ready();
  for (std::uint64_t group = 5001; group <= 6000; ++group) groups.whole(group, 50ms * (group - 4900), group);
  groups.records.take_ready();
  const std::uint64_t before = groups.records.thinned_out();
  for (std::uint64_t group = 6001; group <= 6100; ++group) groups.whole(group, 50ms * (group - 4900), group);
  EXPECT_EQ(groups.records.take_ready().size(), 100u);
  EXPECT_EQ(groups.records.thinned_out(), before);
}

}  // namespace
}  // namespace weft
