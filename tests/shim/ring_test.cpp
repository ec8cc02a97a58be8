// The event ring and the handle table, which this test compiles in: also under the sanitizers.
#include "shim/seam/ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "shim/tables/handle_table.h"
#include "tests/shim/push.h"

namespace weft {
namespace {

Event numbered(GroupId group, StreamId stream = 0) {
  Event event{};
  event.group = group;
  event.stream = stream;
  return event;
}

TEST(EventRing, GivesBackInOrder) {
  const auto ring = std::make_unique<EventRing>();
  Event event{};
  EXPECT_FALSE(ring->pop(event));
  for (GroupId lap = 0; lap < 5 * EventRing::kSlots; lap += 2) {
    EXPECT_TRUE(push(*ring, numbered(lap)));
    EXPECT_TRUE(push(*ring, numbered(lap + 1)));
    ASSERT_TRUE(ring->pop(event));
    ASSERT_EQ(event.group, lap);
    ASSERT_TRUE(ring->pop(event));
    ASSERT_EQ(event.group, lap + 1);
    ASSERT_FALSE(ring->pop(event));
  }
  EXPECT_EQ(ring->dropped.load(), 0u);
}

TEST(EventRing, DropsAndCountsWhenFull) {
  const auto ring = std::make_unique<EventRing>();
  for (GroupId group = 0; group < EventRing::kSlots; ++group) ASSERT_TRUE(push(*ring, numbered(group)));
  EXPECT_FALSE(push(*ring, numbered(99)));
  EXPECT_FALSE(push(*ring, numbered(99)));
  EXPECT_EQ(ring->dropped.load(), 2u);
  Event event{};
  ASSERT_TRUE(ring->pop(event));
  EXPECT_EQ(event.group, 0u);
  EXPECT_TRUE(push(*ring, numbered(7)));
  for (GroupId group = 1; group < EventRing::kSlots; ++group) {
    ASSERT_TRUE(ring->pop(event));
    ASSERT_EQ(event.group, group);
  }
  ASSERT_TRUE(ring->pop(event));
  EXPECT_EQ(event.group, 7u);
  EXPECT_FALSE(ring->pop(event));
}

TEST(EventRing, ManyProducersLoseNothingUncounted) {
  constexpr StreamId kProducers = 8;
  constexpr GroupId kEach = 20000;
  const auto ring = std::make_unique<EventRing>();
  std::atomic<StreamId> running{kProducers};
  std::vector<std::thread> producers;
  for (StreamId producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (GroupId group = 1; group <= kEach; ++group) push(*ring, numbered(group, producer));
      running.fetch_sub(1);
    });
  }
  std::vector<GroupId> last(kProducers, 0);
  std::uint64_t taken = 0;
  Event event{};
  for (bool more = true; more;) {
    more = running.load() != 0;
    while (ring->pop(event)) {
      ++taken;
      ASSERT_LT(last.at(event.stream), event.group);  // each producer's events in its order
      last[event.stream] = event.group;
    }
    std::this_thread::yield();
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(taken + ring->dropped.load(), kProducers * kEach);
}

struct Entry {
  std::atomic<std::uint64_t> key;
  int value;
};

TEST(HandleTable, FindsClaimsAndReleases) {
  auto table = std::make_unique<HandleTable<Entry, 64>>();
  EXPECT_EQ(table->find(0), nullptr);  // a null handle is nobody's, although an unused slot has this key
  EXPECT_EQ(table->find(5), nullptr);
  Entry* five = table->claim(5);
  ASSERT_NE(five, nullptr);
  EXPECT_EQ(table->claim(5), five);
  EXPECT_EQ(table->find(5), five);
  table->release(*five);
  EXPECT_EQ(table->find(5), nullptr);
}

TEST(HandleTable, IsFullAndReusable) {
  auto table = std::make_unique<HandleTable<Entry, 64>>();
  for (std::uint64_t key = 1; key <= 64; ++key) ASSERT_NE(table->claim(key), nullptr);
  EXPECT_EQ(table->claim(65), nullptr);
  table->release(*table->find(17));
  EXPECT_NE(table->claim(65), nullptr);
  for (std::uint64_t key = 1; key <= 65; ++key) EXPECT_EQ(table->find(key) != nullptr, key != 17);
}

TEST(HandleTable, LooksNoFartherThanTheNeighbourhoodOfAKey) {
  using Table = HandleTable<Entry, 1024>;
  const auto table = std::make_unique<Table>();
  std::vector<std::uint64_t> neighbours;
  for (std::uint64_t key = 1; neighbours.size() <= Table::kMostProbes; ++key) {
    if (Table::first_slot(key) == 1000) neighbours.push_back(key);
  }
  const std::uint64_t last = neighbours.back();
  neighbours.pop_back();
  for (const std::uint64_t key : neighbours) ASSERT_NE(table->claim(key), nullptr);
  EXPECT_EQ(table->claim(last), nullptr);
  Table::release(*table->find(neighbours.front()));
  EXPECT_NE(table->claim(last), nullptr);
  EXPECT_NE(table->find(last), nullptr);
}

TEST(HandleTable, ThreadsAgreeOnOneEntryPerKey) {
  auto table = std::make_unique<HandleTable<Entry, 256>>();
  std::vector<std::vector<Entry*>> found(8, std::vector<Entry*>(100));
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 1; key <= mine.size(); ++key) mine[key - 1] = table->claim(key);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, found[0]);
}

}  // namespace
}  // namespace weft
