// The event ring, which this test compiles in: also under the sanitizers.
#include "shim/seam/ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

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
  for (GroupId lap = 0; lap < 5 * EventRing::slot_count; lap += 2) {
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
  for (GroupId group = 0; group < EventRing::slot_count; ++group) ASSERT_TRUE(push(*ring, numbered(group)));
  EXPECT_FALSE(push(*ring, numbered(99)));
  EXPECT_FALSE(push(*ring, numbered(99)));
  EXPECT_EQ(ring->dropped.load(), 2u);
  Event event{};
  ASSERT_TRUE(ring->pop(event));
  EXPECT_EQ(event.group, 0u);
  EXPECT_TRUE(push(*ring, numbered(7)));
  for (GroupId group = 1; group < EventRing::slot_count; ++group) {
    ASSERT_TRUE(ring->pop(event));
    ASSERT_EQ(event.group, group);
  }
  ASSERT_TRUE(ring->pop(event));
  EXPECT_EQ(event.group, 7u);
  EXPECT_FALSE(ring->pop(event));
}

TEST(EventRing, ManyProducersLoseNothingUncounted) {
  constexpr StreamId producer_count = 8;
  constexpr GroupId each = 20000;
  const auto ring = std::make_unique<EventRing>();
  std::atomic<StreamId> running{producer_count};
  std::vector<std::thread> producers;
  for (StreamId producer = 0; producer < producer_count; ++producer) {
    producers.emplace_back([&, producer] {
      for (GroupId group = 1; group <= each; ++group) push(*ring, numbered(group, producer));
      running.fetch_sub(1);
    });
  }
  std::vector<GroupId> last(producer_count, 0);
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
  EXPECT_EQ(taken + ring->dropped.load(), producer_count * each);
}

}  // namespace
}  // namespace weft
