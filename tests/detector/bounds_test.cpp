// Which collectives bound an iteration, from sequences of groups: the optimizer step's, and none of those that only
// look like them.
#include "detector/bounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace weft {
namespace {

constexpr CommunicatorId pipeline = 1, data = 2, tensor = 3, world = 4, experts = 5;

// One rank of a pipeline: receives from rank 0, sends to rank 2, and back.
class Feed {
 public:
  Bounds bounds;
  std::vector<std::uint64_t> last;  // positions of the last collectives of the bounds
  std::uint64_t size = 0;

  void transfer(std::int32_t send_peer, std::int32_t receive_peer, std::uint16_t each = 1) {
    Event group = next(pipeline, 1000 + static_cast<std::uint64_t>(send_peer * 100 + receive_peer));
    group.summary.send_peer = send_peer;
    group.summary.receive_peer = receive_peer;
    group.summary.sends = send_peer < 0 ? 0 : each;
    group.summary.receives = receive_peer < 0 ? 0 : each;
    take(group);
  }
  void receive(std::int32_t peer) { transfer(-1, peer); }
  void send(std::int32_t peer) { transfer(peer, -1); }
  void all_to_all() {
    Event group = next(experts, 5000);
    group.summary.send_peer = group.summary.receive_peer = 0;
    group.summary.sends = group.summary.receives = 4;
    take(group);
  }
  void sum(CommunicatorId communicator, std::uint64_t bytes) { sum(communicator, bytes, bytes); }
  void sum(CommunicatorId communicator, std::uint64_t bytes, std::uint64_t signature) {
    Event group = next(communicator, signature);
    group.summary.send_peer = group.summary.receive_peer = -1;
    group.summary.collectives = group.summary.reduces = 1;
    group.summary.collective_bytes = bytes;
    take(group);
  }
  // Forward and backward of all microbatches, as GPipe has it; `within`: what each of them does on its own.
  void microbatches(
      int count, const std::function<void()>& within = [] {}) {
    forward(count, within);
    for (int i = 0; i < count; ++i) {
      receive(2);
      within();
      send(0);
    }
  }
  void forward(
      int count, const std::function<void()>& within = [] {}) {
    for (int i = 0; i < count; ++i) {
      receive(0);
      within();
      send(2);
    }
  }

 private:
  Event next(CommunicatorId communicator, std::uint64_t signature) {
    Event group{};
    group.kind = EventKind::group_issued;
    group.communicator = communicator;
    group.summary.signature = signature;
    return group;
  }
  void take(const Event& group) {
    ++size;
    if (const auto over = bounds.observe(group)) last.push_back(*over);
  }
};

TEST(Bounds, AreKnownWithTheThird) {
  Feed feed;
  std::vector<std::uint64_t> ends;
  for (const int count : {6, 8, 5, 9, 4}) {
    feed.microbatches(count);
    for (std::uint64_t i = 0; i < 20; ++i) feed.sum(data, 4096 + i);
    ends.push_back(feed.size - 1);
  }
  feed.receive(0);
  EXPECT_EQ(feed.last, std::vector<std::uint64_t>(ends.begin() + 2, ends.end()));
  const Beginnings& beginnings = feed.bounds.beginnings();
  ASSERT_EQ(beginnings.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(beginnings[i], ends[i] + 1);
  EXPECT_EQ(feed.bounds.latest_length(), 4U * 4U + 20U);
}

// Fully sharded weights on a stage that is not the first: gathered behind its first receive, while the gradients'
// collectives of the same communicator move as many bytes and end the iteration.
TEST(Bounds, AreTheGradientsWhereWeightsAreGatheredInTheFirstMicrobatch) {
  Feed feed;
  std::vector<std::uint64_t> ends;
  for (int i = 0; i < 5; ++i) {
    feed.receive(0);
    for (int layer = 0; layer < 4; ++layer) feed.sum(data, 1000);
    feed.transfer(2, 0);
    feed.microbatches(5);
    for (int layer = 0; layer < 4; ++layer) feed.sum(data, 1000, 7);
    ends.push_back(feed.size - 1);
  }
  feed.receive(0);
  EXPECT_EQ(feed.last, std::vector<std::uint64_t>(ends.begin() + 2, ends.end()));
}

TEST(Bounds, AreNoCollectivesOfAMicrobatch) {
  Feed feed;
  const auto layers = [&] {
    for (int i = 0; i < 4; ++i) feed.sum(tensor, 1 << 20);
    feed.sum(tensor, 64);
  };
  feed.microbatches(500, layers);
  EXPECT_FALSE(feed.bounds.known());
  feed.sum(data, 1000);
  for (int i = 0; i < 3; ++i) {
    feed.microbatches(64 + i, layers);
    feed.sum(data, 1000);
  }
  feed.receive(0);
  ASSERT_TRUE(feed.bounds.known());
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

// The first stage receives nothing before its first microbatch, so that follows without anything in between.
TEST(Bounds, EndBeforeTheFirstMicrobatchOfTheNext) {
  Feed feed;
  std::uint64_t sum = 0;
  for (const int count : {6, 8, 5, 9, 4}) {
    for (int i = 0; i < count; ++i) {
      feed.sum(tensor, 64);
      feed.send(2);
    }
    for (int i = 0; i < count; ++i) {
      feed.receive(2);
      feed.sum(tensor, 64);
    }
    feed.sum(data, 1000);
    feed.sum(data, 1001);
    sum = feed.size - 1;
  }
  feed.sum(tensor, 64);
  feed.send(2);
  ASSERT_FALSE(feed.last.empty());
  EXPECT_EQ(feed.last.back(), sum);
}

// Sequences of other lengths have collectives of other sizes, each of which comes again seldom.
TEST(Bounds, AreNoCollectivesOfAMicrobatchOfOtherLength) {
  Feed feed;
  std::minstd_rand random(3);
  for (int i = 0; i < 20; ++i) {
    feed.microbatches(5 + static_cast<int>(random() % 12), [&] {
      const std::uint64_t length = 128 * (1 + random() % 16);
      for (int layer = 0; layer < 4; ++layer) feed.sum(tensor, length);
    });
    feed.sum(data, 1000);
    if (i < 2) continue;
    feed.receive(0);
    ASSERT_EQ(feed.last.size(), static_cast<std::size_t>(i - 1));
    EXPECT_EQ(feed.last.back(), feed.size - 2);
  }
}

TEST(Bounds, AreFoundBesideOthersOfOneCommunicator) {
  Feed feed;
  for (int i = 0; i < 12; ++i) {
    feed.microbatches(5 + i % 3, [&] { feed.sum(world, 4); });
    feed.sum(world, 1000);
  }
  feed.receive(0);
  ASSERT_TRUE(feed.bounds.known());
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

TEST(Bounds, AreNotTheLossInTheMiddle) {
  Feed feed;
  for (int i = 0; i < 8; ++i) {
    feed.forward(5 + i % 3);
    feed.sum(world, 4);
    for (int k = 0; k < 5 + i % 3; ++k) {
      feed.receive(2);
      feed.send(0);
    }
    feed.sum(data, 100000);
  }
  feed.receive(0);
  ASSERT_EQ(feed.last.size(), 6U);
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

// Buckets are summed during the last backward, so the last gradient is sent in between; and sizes change once, when the
// buckets are built anew after the first iteration.
TEST(Bounds, MayBeSplitAndBuiltAnew) {
  Feed feed;
  for (int i = 0; i < 9; ++i) {
    const std::uint64_t more = i == 0 ? 1000 : 0;
    feed.forward(5 + i % 3);
    for (int k = 0; k < 5 + i % 3; ++k) {
      feed.receive(2);
      if (k + 1 == 5 + i % 3) feed.sum(data, 5000 + more);
      feed.send(0);
    }
    feed.sum(data, 7000 + more);
    feed.sum(world, 4);
  }
  feed.receive(0);
  ASSERT_EQ(feed.last.size(), 7U);
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

TEST(Bounds, TransfersBetweenExpertsAreNoMicrobatches) {
  Feed feed;
  for (int i = 0; i < 8; ++i) {
    feed.microbatches(5 + i % 3, [&] {
      feed.sum(tensor, 512);
      for (int layer = 0; layer < 8; ++layer) feed.all_to_all();
    });
    feed.sum(data, 100000);
  }
  feed.receive(0);
  ASSERT_EQ(feed.last.size(), 6U);
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

TEST(Bounds, ThereAreNoneWhereBroadcastsAreUsedAsTransfers) {
  Feed feed;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 12; ++k) feed.sum(pipeline, 2048);
    feed.sum(data, 1000);
  }
  EXPECT_FALSE(feed.bounds.known());
  EXPECT_TRUE(feed.last.empty());
}

TEST(Bounds, OutlastAnEvaluation) {
  Feed feed;
  for (int i = 0; i < 30; ++i) {
    feed.microbatches(5 + i % 3);
    feed.sum(data, 1000);
  }
  const std::uint64_t key = feed.bounds.key();
  for (int i = 0; i < 20; ++i) {
    feed.forward(6);
    feed.sum(world, 4);
  }
  EXPECT_EQ(feed.bounds.key(), key);
  for (int i = 0; i < 200; ++i) {
    feed.forward(6);
    feed.sum(world, 4);
  }
  EXPECT_TRUE(feed.bounds.known());
  EXPECT_NE(feed.bounds.key(), key);
}

TEST(Bounds, AnEvaluationBeforeTheTrainingGivesWay) {
  Feed feed;
  for (int i = 0; i < 4; ++i) {
    feed.forward(6);
    feed.sum(world, 4);
  }
  for (int i = 0; i < 12; ++i) {
    feed.microbatches(5 + i % 3);
    feed.sum(data, 1000);
  }
  feed.receive(0);
  EXPECT_EQ(feed.last.back(), feed.size - 2);
}

TEST(Bounds, OfTwoOrThreeMicrobatchesTakeLonger) {
  Feed feed;
  for (int i = 0; i < 17; ++i) {
    feed.microbatches(2 + i % 2);
    feed.sum(data, 1000);
    feed.receive(0);
    EXPECT_EQ(feed.bounds.known(), i == 16);
  }
}

TEST(Bounds, NoneInNoise) {
  Feed feed;
  std::minstd_rand random(5);
  for (int i = 0; i < 200000; ++i) {
    if (random() % 3 == 0)
      feed.sum(static_cast<CommunicatorId>(random() % 50), random() % 100000);
    else
      feed.transfer(static_cast<std::int32_t>(random() % 20), static_cast<std::int32_t>(random() % 20));
  }
  EXPECT_LT(feed.last.size(), 200U);
}

}  // namespace
}  // namespace weft
