// Ids of communicators, as each rank finds them for itself, and their names.
#include "shim/main_job/communicator_origin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace weft {
namespace {

ncclUniqueId unique_id(char first, char last = 0) {
  ncclUniqueId id{};
  id.internal[0] = first;
  id.internal[sizeof id.internal - 1] = last;
  return id;
}

std::uint64_t id_of(const ncclUniqueId& id) {
  return origin_of_ids(&id, 1, nullptr).shared_id;
}

TEST(CommunicatorOrigin, AnIdComesFromEveryByteOfTheUniqueId) {
  EXPECT_EQ(id_of(unique_id('a')), id_of(unique_id('a')));
  const std::set<std::uint64_t> all{0, id_of(unique_id(0)), id_of(unique_id('a')), id_of(unique_id(0, 'a')),
                                    id_of(unique_id('a', 'a'))};
  EXPECT_EQ(all.size(), 5u);
}

// The same in every build and on every machine: traces of one job may come from several.
TEST(CommunicatorOrigin, AnIdIsTheSameEverywhere) {
  ncclUniqueId id{};
  for (std::size_t i = 0; i < sizeof id.internal; ++i) id.internal[i] = static_cast<char>(i * 7);
  EXPECT_EQ(id_of(id), 0x39e900c90ad96b8u);
}

TEST(CommunicatorOrigin, OfSeveralUniqueIdsAllCount) {
  const ncclUniqueId ids[2] = {unique_id('a'), unique_id('b')};
  const ncclUniqueId turned[2] = {ids[1], ids[0]};
  const std::uint64_t both = origin_of_ids(ids, 2, nullptr).shared_id;
  EXPECT_NE(both, id_of(ids[0]));
  EXPECT_NE(both, origin_of_ids(turned, 2, nullptr).shared_id);
  EXPECT_EQ(origin_of_ids(nullptr, 2, nullptr).shared_id, 0u);
}

// Every rank of the parent takes part in each split; which colour it has says which child it gets.
TEST(CommunicatorOrigin, ASplitIsKnownByParentColourAndTurn) {
  Descent one{}, other{};
  std::set<std::uint64_t> all;
  for (int turn = 0; turn < 3; ++turn) {
    const std::uint64_t even = origin_of_split(7, one, 0, nullptr, true).shared_id;
    const std::uint64_t odd = origin_of_split(7, other, 1, nullptr, true).shared_id;
    all.insert({even, odd});
  }
  EXPECT_EQ(all.size(), 6u);
  Descent third{};
  EXPECT_TRUE(all.contains(origin_of_split(7, third, 1, nullptr, true).shared_id));
  EXPECT_FALSE(all.contains(origin_of_split(8, third, 1, nullptr, true).shared_id));
}

TEST(CommunicatorOrigin, ASplitOfAnUnknownParentIsUnknown) {
  Descent descent{};
  EXPECT_EQ(origin_of_split(0, descent, 0, nullptr, true).shared_id, 0u);
}

// It may have failed here only, and then the others count one more.
TEST(CommunicatorOrigin, AfterAFailedSplitNoneIsKnown) {
  Descent descent{};
  origin_of_split(7, descent, 0, nullptr, false);
  EXPECT_EQ(origin_of_split(7, descent, 0, nullptr, true).shared_id, 0u);
}

TEST(CommunicatorOrigin, AShrinkIsKnownByTheRanksThatItLeavesOut) {
  Descent one{}, other{};
  const int excluded[] = {1, 3}, turned[] = {3, 1};
  const std::uint64_t first = origin_of_shrink(7, one, excluded, 2, nullptr, true).shared_id;
  EXPECT_NE(first, 0u);
  EXPECT_EQ(first, origin_of_shrink(7, other, turned, 2, nullptr, true).shared_id);
  const std::uint64_t second = origin_of_shrink(7, one, excluded, 2, nullptr, true).shared_id;
  EXPECT_NE(second, 0u);
  EXPECT_NE(second, first);
  // A rank that was left out before has counted less.
  EXPECT_EQ(origin_of_shrink(7, one, excluded, 1, nullptr, true).shared_id, 0u);
  EXPECT_EQ(origin_of_shrink(7, one, excluded, 2, nullptr, true).shared_id, 0u);
}

TEST(CommunicatorOrigin, ANameIsTakenFromAConfigThatHasOne) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  EXPECT_STREQ(origin_unknown(&config).name.text, "");
  EXPECT_STREQ(origin_unknown(nullptr).name.text, "");
  config.commName = "pipeline:0";
  EXPECT_STREQ(origin_unknown(&config).name.text, "pipeline:0");
  EXPECT_EQ(origin_unknown(&config).shared_id, 0u);
  const std::string longer(1000, 'n');
  config.commName = longer.c_str();
  EXPECT_EQ(origin_unknown(&config).name.text, std::string(127, 'n'));
}

// Behind the end of an older struct lies somebody else's memory.
TEST(CommunicatorOrigin, AnOlderConfigIsNotReadBeyondItsEnd) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  const auto name = [&] { return std::string(origin_unknown(&config).name.text); };
  config.commName = reinterpret_cast<const char*>(8);  // reading it is a fault
  config.size = offsetof(ncclConfig_t, commName) + sizeof config.commName - 1;
  EXPECT_EQ(name(), "");
  config.size = sizeof config;
  config.version = NCCL_VERSION(2, 26, 5);
  EXPECT_EQ(name(), "");
  config.version = NCCL_VERSION(2, 27, 0);
  config.magic = 0;
  EXPECT_EQ(name(), "");
}

TEST(CommunicatorOrigin, OfOneProcessEachIsAnother) {
  const std::uint64_t first = origin_in_process().shared_id;
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, origin_in_process().shared_id);
}

}  // namespace
}  // namespace weft
