// The operations and communicators that a world tells of: what a trace of each rank has, joined as its readers do.
#include "sim/pipeline/communicators.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "quiet_world.h"

namespace weft::pipeline {
namespace {

// Where the sides of a message are found again: identity of the communicator, sender, receiver, number.
using Place = std::tuple<std::uint64_t, int, int, std::uint64_t>;
using Collective = std::pair<std::uint64_t, std::uint64_t>;

class Traced : public Watcher {
 public:
  struct Group {
    CommunicatorId communicator = 0;
    std::vector<IssuedOperation> operations;
    TimePoint begun{}, ended{};
  };
  void saw(int rank, const Event& event) override {
    if (event.group == 0) return;
    Group& group = groups[{rank, event.group}];
    if (event.kind == EventKind::group_issued) group.communicator = event.communicator;
    if (event.kind == EventKind::group_started) group.begun = event.time;
    if (event.kind == EventKind::group_done) group.ended = event.time;
    if (event.kind != EventKind::operations_issued) return;
    for (const IssuedOperation& operation : event.operations)
      if (operation.present) group.operations.push_back(operation);
  }
  void woken(int, TimePoint) override {}
  void computed(int, const Span&) override {}
  std::map<std::pair<int, GroupId>, Group> groups;
};

struct Joined {
  std::map<Place, Traced::Group> sends, receives;
  std::map<Collective, std::set<int>> collectives;  // ranks
};

Joined join(const World& world, const Traced& traced) {
  std::map<std::pair<int, CommunicatorId>, Membership> members;
  for (int rank = 0; rank < world.ranks(); ++rank)
    for (const Membership& of : world.communicators(rank)) members[{rank, of.communicator}] = of;
  Joined joined;
  for (const auto& [key, group] : traced.groups) {
    const Membership& of = members.at({key.first, group.communicator});
    EXPECT_FALSE(group.operations.empty());
    for (const IssuedOperation& operation : group.operations) {
      const bool sends = operation.kind == Operation::send;
      const Place place{of.id, sends ? of.rank : operation.peer, sends ? operation.peer : of.rank, operation.sequence};
      const bool is_new = operation.kind == Operation::all_reduce
                              ? joined.collectives[{of.id, operation.sequence}].insert(of.rank).second
                              : (sends ? joined.sends : joined.receives).emplace(place, group).second;
      EXPECT_TRUE(is_new);
    }
  }
  return joined;
}

class Operations : public ::testing::TestWithParam<std::tuple<Schedule, bool>> {};

TEST_P(Operations, HaveTheirOtherSideWhereItsNumbersSay) {
  WorldOptions options;
  std::tie(options.schedule.schedule, options.program.paired) = GetParam();
  options.schedule.ranks = 4;
  options.schedule.microbatches = 8;
  options.iterations = 3;
  options.replicas = 2;
  options.jitter = 0.1;
  options.tells_operations = true;
  Traced traced;
  World world(options, traced);
  world.run();
  const Joined joined = join(world, traced);
  ASSERT_FALSE(joined.sends.empty());
  EXPECT_EQ(joined.sends.size(), joined.receives.size());
  for (const auto& [place, send] : joined.sends) {
    const auto receive = joined.receives.find(place);
    ASSERT_NE(receive, joined.receives.end());
    // No message is there before it was sent, nor has its sender gone before it was taken.
    EXPECT_GT(receive->second.ended, send.begun);
    EXPECT_GT(send.ended, receive->second.begun);
  }
  std::map<std::size_t, int> sums;  // by how many ranks were in them
  for (const auto& [number, ranks] : joined.collectives) ++sums[ranks.size()];
  EXPECT_EQ(sums, (std::map<std::size_t, int>{{2, 4 * 3}, {8, 3}}));
}

// Batched calls on one stream stop for good where a rank has several stages.
INSTANTIATE_TEST_SUITE_P(Schedules, Operations,
                         ::testing::Values(std::tuple(Schedule::gpipe, false), std::tuple(Schedule::gpipe, true),
                                           std::tuple(Schedule::one_f_one_b, false),
                                           std::tuple(Schedule::one_f_one_b, true),
                                           std::tuple(Schedule::interleaved, false), std::tuple(Schedule::zb_h1, false),
                                           std::tuple(Schedule::zb_h1, true), std::tuple(Schedule::zb_v, false),
                                           std::tuple(Schedule::dualpipe_v, false)));

TEST(Operations, AreNotToldWhereNobodyWantsThem) {
  Traced traced;
  World world(without_messages(Schedule::one_f_one_b), traced);
  world.run();
  ASSERT_FALSE(traced.groups.empty());
  for (const auto& [key, group] : traced.groups) EXPECT_TRUE(group.operations.empty());
}

}  // namespace
}  // namespace weft::pipeline
