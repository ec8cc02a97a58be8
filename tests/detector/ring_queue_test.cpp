// The bounded queue: order, growth, loss of the oldest.
#include "detector/ring_queue.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(RingQueue, KeepsOrderWhileItGrowsAndWraps) {
  RingQueue<int> queue(64);
  int next = 0, expected = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7 && queue.size() < 60; ++i) queue.push(next++);
    for (int i = 0; i < 5; ++i, queue.pop()) ASSERT_EQ(queue.front(), expected++);
  }
  ASSERT_EQ(queue.back(), next - 1);
  for (std::size_t i = 0; i < queue.size(); ++i) ASSERT_EQ(queue[i], expected + static_cast<int>(i));
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(RingQueue, DropsTheOldestAtItsLimit) {
  RingQueue<int> queue(16);
  for (int i = 0; i < 20; ++i) queue.push(i);
  EXPECT_EQ(queue.size(), 16u);
  EXPECT_EQ(queue.front(), 4);
  EXPECT_EQ(queue.back(), 19);
  EXPECT_EQ(queue.dropped(), 4u);
}

}  // namespace
}  // namespace weft
