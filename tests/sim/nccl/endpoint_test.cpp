// Several endpoints stepped by hand in virtual time: data, order and exact end times of messages and collectives.
#include "endpoint.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <list>
#include <numeric>
#include <random>
#include <string>

namespace simgpu::nccl {
namespace {

constexpr Instant latency = 10'000;
constexpr uint64_t fifo = 4096;

// Ranks of one communicator in this process; each runs its kernels one after the other.
class World {
 public:
  explicit World(int ranks, LinkModel model = LinkModel(nanoseconds(latency), 1e9, fifo, 1, {}))
      : model_(std::move(model)), jobs_(static_cast<size_t>(ranks)) {
    EXPECT_TRUE(Segment::create(model_.fifo_bytes(), &address_));
    doorbell_ = memfd_create("doorbell", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(doorbell_, 4096), 0);
    std::vector<int> world_ranks(static_cast<size_t>(ranks));
    std::iota(world_ranks.begin(), world_ranks.end(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const char* error = nullptr;
      std::shared_ptr<Segment> segment = Segment::open(address_, ranks, &error);
      EXPECT_NE(segment, nullptr) << error;
      endpoints_.push_back(std::make_unique<Endpoint>(segment, rank, &model_, world_ranks));
      for (int peer = 0; peer < ranks; ++peer) {
        EXPECT_TRUE(endpoints_.back()->doorbells().open(peer, getpid(), doorbell_));
      }
    }
  }
  ~World() {
    Segment::release(address_);
    close(doorbell_);
  }

  Plan& launch(int rank, Instant started) {
    Job& job = jobs_[static_cast<size_t>(rank)].emplace_back();
    job.started = started;
    return job.plan;
  }
  // Steps the ranks in the order given until nobody gets further; false when a kernel is left.
  bool run(const std::vector<int>& order) {
    for (int idle = 0; idle < 3; ++idle) {
      for (const int rank : order) {
        if (advance(rank)) idle = 0;
      }
      if (left() == 0) return true;
    }
    return false;
  }
  bool run() {
    std::vector<int> order(endpoints_.size());
    std::iota(order.begin(), order.end(), 0);
    return run(order);
  }
  Instant end(int rank, size_t kernel) const { return ends_.at(static_cast<size_t>(rank)).at(kernel); }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<size_t>(rank)]; }
  size_t left() const {
    size_t count = 0;
    for (const auto& jobs : jobs_) count += jobs.size();
    return count;
  }

 private:
  struct Job {
    Plan plan;
    Instant started = 0;
  };
  // Many steps at once, so that messages of many chunks count as progress.
  bool advance(int rank) {
    auto& jobs = jobs_[static_cast<size_t>(rank)];
    bool advanced = false;
    const uint64_t before = traffic();
    for (int i = 0; i < 4 && !jobs.empty(); ++i) {
      Instant finish = 0;
      if (endpoint(rank).step(jobs.front().plan, jobs.front().started, jobs.front().started, &finish) == 0) continue;
      ends_.resize(endpoints_.size());
      ends_[static_cast<size_t>(rank)].push_back(finish);
      jobs.pop_front();
      advanced = true;
    }
    return advanced || traffic() != before;
  }
  uint64_t traffic() const {
    uint64_t sum = 0;
    Segment& segment = endpoints_.front()->segment();
    for (int a = 0; a < segment.ranks(); ++a) {
      sum += segment.rank(a).written.load() + segment.rank(a).finished.load();
      for (int b = 0; b < segment.ranks(); ++b) {
        for (const LinkKind kind : {LinkKind::two_sided, LinkKind::one_sided}) {
          sum += segment.link(a, b, kind).written.load() + segment.link(a, b, kind).consumed.load();
        }
        sum += segment.consumed(a, b).load();
      }
    }
    return sum;
  }

  LinkModel model_;
  Address address_{};
  int doorbell_ = -1;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::list<Job>> jobs_;
  std::vector<std::vector<Instant>> ends_;
};

Transfer transfer(int peer, std::vector<char>& buffer) {
  Transfer result;
  result.peer = peer;
  result.buffer = buffer.data();
  result.bytes = buffer.size();
  return result;
}

std::vector<char> pattern(size_t bytes, int seed) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 31 + static_cast<size_t>(seed) * 7 + 1);
  return data;
}

TEST(Transfer, SmallSendEndsBeforeItsReceiverStarts) {
  World world(2);
  std::vector<char> sent = pattern(1000, 1), got(1000);
  world.launch(0, 100).sends.push_back(transfer(1, sent));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 100 + latency + 1000);
  world.launch(1, 500'000).receives.push_back(transfer(0, got));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(1, 0), 500'000 + latency);
  EXPECT_EQ(got, sent);
}

TEST(Transfer, EarlyReceiverEndsWhenTheDataHasArrived) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
    World world(2);
    std::vector<char> sent = pattern(2000, 1), got(2000);
    world.launch(1, 50).receives.push_back(transfer(0, got));
    EXPECT_FALSE(world.run(order));
    world.launch(0, 70'000).sends.push_back(transfer(1, sent));
    ASSERT_TRUE(world.run(order));
    EXPECT_EQ(world.end(0, 0), 70'000 + latency + 2000);
    EXPECT_EQ(world.end(1, 0), 70'000 + latency + 2000);
    EXPECT_EQ(got, sent);
  }
}

TEST(Transfer, LargeSendBlocksUntilTheReceiverHasStarted) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
    World world(2);
    std::vector<char> sent = pattern(10 * fifo + 5, 1), got(10 * fifo + 5);
    world.launch(0, 0).sends.push_back(transfer(1, sent));
    EXPECT_FALSE(world.run(order));
    world.launch(1, 1'000'000).receives.push_back(transfer(0, got));
    ASSERT_TRUE(world.run(order));
    const Instant end = 1'000'000 + latency + static_cast<Instant>(sent.size());
    EXPECT_EQ(world.end(0, 0), end);
    EXPECT_EQ(world.end(1, 0), end);
    EXPECT_EQ(got, sent);
  }
}

TEST(Transfer, AFullRingBlocksTheNextSmallSend) {
  World world(2);
  std::vector<char> a = pattern(3000, 1), b = pattern(3000, 2), got_a(3000), got_b(3000);
  world.launch(0, 0).sends.push_back(transfer(1, a));
  world.launch(0, 20'000).sends.push_back(transfer(1, b));
  EXPECT_FALSE(world.run());
  EXPECT_EQ(world.end(0, 0), latency + 3000);
  world.launch(1, 900'000).receives.push_back(transfer(0, got_a));
  world.launch(1, 910'000).receives.push_back(transfer(0, got_b));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(1, 0), 900'000 + latency);
  EXPECT_EQ(world.end(0, 1), 900'000 + latency + latency + 3000);
  EXPECT_EQ(world.end(1, 1), 900'000 + latency + latency + 3000);
  EXPECT_EQ(got_a, a);
  EXPECT_EQ(got_b, b);
}

TEST(Transfer, MessagesOfOneLinkQueue) {
  World world(2);
  std::vector<char> a = pattern(1000, 1), b = pattern(500, 2), got_a(1000), got_b(500);
  Plan& sender = world.launch(0, 0);
  sender.sends = {transfer(1, a), transfer(1, b)};
  Plan& receiver = world.launch(1, 0);
  receiver.receives = {transfer(0, got_a), transfer(0, got_b)};
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 2 * latency + 1500);
  EXPECT_EQ(world.end(1, 0), 2 * latency + 1500);
  EXPECT_EQ(got_a, a);
  EXPECT_EQ(got_b, b);
}

TEST(Transfer, SlowLinkIsSlowInItsDirection) {
  World world(2, LinkModel(nanoseconds(latency), 1e9, fifo, 1, {{0, 1, 3}}));
  std::vector<char> a = pattern(1000, 1), b = pattern(1000, 2), got_a(1000), got_b(1000);
  world.launch(0, 0).sends.push_back(transfer(1, a));
  world.launch(0, 0).receives.push_back(transfer(1, got_b));
  world.launch(1, 0).sends.push_back(transfer(0, b));
  world.launch(1, 0).receives.push_back(transfer(0, got_a));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 3 * (latency + 1000));
  EXPECT_EQ(world.end(1, 0), latency + 1000);
}

TEST(Transfer, FusedSendAndReceiveWithoutDeadlock) {
  World world(2);
  std::vector<char> a = pattern(5 * fifo, 1), b = pattern(7 * fifo, 2), got_a(5 * fifo), got_b(7 * fifo);
  Plan& left = world.launch(0, 0);
  left.sends = {transfer(1, a)};
  left.receives = {transfer(1, got_b)};
  Plan& right = world.launch(1, 40'000);
  right.sends = {transfer(0, b)};
  right.receives = {transfer(0, got_a)};
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 40'000 + latency + static_cast<Instant>(7 * fifo));
  EXPECT_EQ(world.end(1, 0), world.end(0, 0));
  EXPECT_EQ(got_a, a);
  EXPECT_EQ(got_b, b);
}

TEST(Transfer, ToOneself) {
  World world(1);
  std::vector<char> sent = pattern(3 * fifo, 1), got(3 * fifo);
  Plan& plan = world.launch(0, 0);
  plan.sends = {transfer(0, sent)};
  plan.receives = {transfer(0, got)};
  ASSERT_TRUE(world.run());
  EXPECT_EQ(got, sent);
}

TEST(Transfer, HundredsOfMessagesOnOneLink) {
  World world(2);
  std::mt19937 random(7);
  std::vector<std::vector<char>> sent, got;
  for (int i = 0; i < 500; ++i) {
    sent.push_back(pattern(random() % (2 * fifo), i));
    got.emplace_back(sent.back().size());
  }
  Plan& sender = world.launch(0, 0);
  for (auto& data : sent) sender.sends.push_back(transfer(1, data));
  Plan& receiver = world.launch(1, 0);
  for (auto& data : got) receiver.receives.push_back(transfer(0, data));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(sent, got);
}

Transfer put(int peer, std::vector<char>& buffer, uint64_t window, uint64_t offset) {
  Transfer result = transfer(peer, buffer);
  result.kind = LinkKind::one_sided;
  result.window = window;
  result.offset = offset;
  return result;
}

Transfer wait_for_signal(int peer) {
  Transfer result;
  result.peer = peer;
  result.kind = LinkKind::one_sided;
  return result;
}

TEST(Put, EndsWithoutItsWaitWhichPutsTheBytesIntoTheWindow) {
  World world(2);
  std::vector<char> sent = pattern(1000, 1), memory(3000), whole(3000);
  const uint64_t window = world.endpoint(1).add_window(memory.data(), memory.size());
  std::copy(sent.begin(), sent.end(), whole.begin() + 500);
  world.launch(0, 100).sends.push_back(put(1, sent, window, 500));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 100 + latency + 1000);
  world.launch(1, 500'000).receives.push_back(wait_for_signal(0));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(1, 0), 500'000 + latency);
  EXPECT_EQ(memory, whole);
}

TEST(Put, IsNotTakenByAReceive) {
  World world(2);
  std::vector<char> sent = pattern(1000, 1), passed = pattern(1000, 2), memory(1000), got(1000);
  const uint64_t window = world.endpoint(1).add_window(memory.data(), memory.size());
  world.launch(0, 0).sends.push_back(put(1, sent, window, 0));
  world.launch(1, 0).receives.push_back(transfer(0, got));
  EXPECT_FALSE(world.run());
  world.launch(0, 0).sends.push_back(transfer(1, passed));
  world.launch(1, 0).receives.push_back(wait_for_signal(0));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(got, passed);
  EXPECT_EQ(memory, sent);
}

TEST(Put, OutsideOfItsWindowIsAFault) {
  for (const uint64_t offset : {uint64_t{1}, uint64_t{5000}, ~uint64_t{0}}) {
    World world(2);
    std::vector<char> sent = pattern(1000, 1), memory(1000, 7), untouched(1000, 7);
    const uint64_t window = world.endpoint(1).add_window(memory.data(), memory.size());
    world.launch(0, 0).sends.push_back(put(1, sent, window, offset));
    world.launch(1, 0).receives.push_back(wait_for_signal(0));
    ASSERT_TRUE(world.run());
    std::string message;
    EXPECT_EQ(world.endpoint(1).fault(&message), ncclInternalError) << offset;
    EXPECT_EQ(memory, untouched);
  }
}

TEST(Transfer, SizesThatDoNotMatchAreAFault) {
  for (const size_t bytes : {size_t{100}, size_t{3 * fifo}}) {
    World world(2);
    std::vector<char> sent = pattern(bytes, 1), got(bytes + 8);
    world.launch(0, 0).sends.push_back(transfer(1, sent));
    world.launch(1, 0).receives.push_back(transfer(0, got));
    ASSERT_TRUE(world.run());
    std::string message;
    EXPECT_EQ(world.endpoint(1).fault(&message), ncclInternalError);
    EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
  }
}

TEST(Transfer, AbortEndsASpinningKernel) {
  World world(2);
  std::vector<char> got(100);
  world.launch(0, 5).receives.push_back(transfer(1, got));
  EXPECT_FALSE(world.run());
  world.endpoint(0).abort();
  EXPECT_TRUE(world.run());
}

// Ends depend on the starts alone, not on who is stepped when.
TEST(Transfer, EndsAreIndependentOfTheOrderOfSteps) {
  std::vector<Instant> reference;
  for (unsigned seed = 0; seed < 20; ++seed) {
    World world(3);
    std::mt19937 random(11);
    std::list<std::vector<char>> buffers;
    for (int kernel = 0; kernel < 30; ++kernel) {
      const size_t bytes = 1 + random() % (2 * fifo);
      for (int rank = 0; rank < 3; ++rank) {
        Plan& plan = world.launch(rank, kernel * 20'000 + static_cast<Instant>(random() % 60'000));
        plan.sends = {transfer((rank + 1) % 3, buffers.emplace_back(bytes))};
        plan.receives = {transfer((rank + 2) % 3, buffers.emplace_back(bytes))};
      }
    }
    std::mt19937 shuffle(seed);
    std::vector<int> order;
    for (int i = 0; i < 40; ++i) order.push_back(static_cast<int>(shuffle() % 3));
    order.insert(order.end(), {0, 1, 2});
    ASSERT_TRUE(world.run(order));
    std::vector<Instant> ends;
    for (int rank = 0; rank < 3; ++rank) {
      for (size_t kernel = 0; kernel < 30; ++kernel) ends.push_back(world.end(rank, kernel));
    }
    if (reference.empty()) reference = ends;
    EXPECT_EQ(ends, reference) << "seed " << seed;
  }
}

Collective collective(CollectiveKind kind, const std::vector<int>& send, std::vector<int>& receive, uint64_t count,
                      int root = 0) {
  Collective result;
  result.kind = kind;
  result.send = send.data();
  result.receive = receive.data();
  result.count = count;
  result.type = ncclInt32;
  result.root = root;
  return result;
}

// Element i of rank r.
int value(int rank, size_t i) {
  return static_cast<int>(i) * 10 + rank;
}

class CollectiveTest : public testing::TestWithParam<std::tuple<int, size_t>> {
 protected:
  const int ranks = std::get<0>(GetParam());
  const size_t count = std::get<1>(GetParam());

  // Runs one collective with `given` elements from each rank and `taken` for each rank.
  std::vector<std::vector<int>> all(CollectiveKind kind, size_t given, size_t taken, int root = 0) {
    World world(ranks);
    std::vector<std::vector<int>> send(static_cast<size_t>(ranks)), receive(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      auto& mine = send[static_cast<size_t>(rank)];
      for (size_t i = 0; i < given; ++i) mine.push_back(value(rank, i));
      receive[static_cast<size_t>(rank)].assign(taken, -1);
    }
    for (int round = 0; round < 2; ++round) {
      for (int rank = 0; rank < ranks; ++rank) {
        const auto r = static_cast<size_t>(rank);
        world.launch(rank, rank * 100).collectives.push_back(collective(kind, send[r], receive[r], count, root));
      }
    }
    EXPECT_TRUE(world.run());
    return receive;
  }
};

TEST_P(CollectiveTest, AllReduce) {
  for (const auto& got : all(CollectiveKind::all_reduce, count, count)) {
    for (size_t i = 0; i < count; ++i) {
      int sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i);
      ASSERT_EQ(got[i], sum) << i;
    }
  }
}

TEST_P(CollectiveTest, Reduce) {
  const int root = ranks - 1;
  const auto got = all(CollectiveKind::reduce, count, count, root);
  for (size_t i = 0; i < count; ++i) {
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i);
    ASSERT_EQ(got[static_cast<size_t>(root)][i], sum);
    if (ranks > 1) {
      ASSERT_EQ(got[0][i], -1);
    }
  }
}

TEST_P(CollectiveTest, Broadcast) {
  const int root = ranks / 2;
  for (const auto& got : all(CollectiveKind::broadcast, count, count, root)) {
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], value(root, i));
  }
}

TEST_P(CollectiveTest, AllGather) {
  for (const auto& got : all(CollectiveKind::all_gather, count, count * static_cast<size_t>(ranks))) {
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], value(static_cast<int>(i / count), i % count));
  }
}

TEST_P(CollectiveTest, ReduceScatter) {
  const auto got = all(CollectiveKind::reduce_scatter, count * static_cast<size_t>(ranks), count);
  for (int taker = 0; taker < ranks; ++taker) {
    for (size_t i = 0; i < count; ++i) {
      int sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += value(rank, static_cast<size_t>(taker) * count + i);
      ASSERT_EQ(got[static_cast<size_t>(taker)][i], sum);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CollectiveTest,
                         testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(1, 7, 1000, 1024, 5000)));

TEST(CollectiveTimes, AllReduceEndsForAllWhenTheLastHasStarted) {
  World world(3);
  std::vector<int> send(30, 1), receive(30);
  for (const int rank : {0, 1, 2}) {
    world.launch(rank, 1000 * rank).collectives.push_back(collective(CollectiveKind::all_reduce, send, receive, 30));
  }
  ASSERT_TRUE(world.run());
  for (const int rank : {0, 1, 2}) EXPECT_EQ(world.end(rank, 0), 2000 + 4 * latency + 160);
}

TEST(CollectiveTimes, RootOfASmallBroadcastWaitsForNobody) {
  World world(2);
  std::vector<int> send(100, 4), receive(100);
  world.launch(0, 0).collectives.push_back(collective(CollectiveKind::broadcast, send, send, 100));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), latency + 400);
  world.launch(1, 77'000).collectives.push_back(collective(CollectiveKind::broadcast, send, receive, 100));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(1, 0), 77'000 + latency);
  EXPECT_EQ(receive, send);
}

TEST(CollectiveTimes, LargeBroadcastWaitsForAll) {
  World world(2);
  std::vector<int> send(fifo, 4), receive(fifo);
  world.launch(0, 0).collectives.push_back(collective(CollectiveKind::broadcast, send, send, fifo));
  EXPECT_FALSE(world.run());
  world.launch(1, 77'000).collectives.push_back(collective(CollectiveKind::broadcast, send, receive, fifo));
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.end(0, 0), 77'000 + latency + static_cast<Instant>(4 * fifo));
  EXPECT_EQ(world.end(1, 0), world.end(0, 0));
}

TEST(Collectives, InPlaceAndScaled) {
  World world(2);
  std::vector<int> a(3000), b(3000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<int>(i);
    b[i] = static_cast<int>(2 * i);
  }
  for (const int rank : {0, 1}) {
    std::vector<int>& data = rank == 0 ? a : b;
    Collective scaled = collective(CollectiveKind::all_reduce, data, data, data.size());
    scaled.operation.reduction = Reduction::scaled_sum;
    const int scalar = 10;
    std::memcpy(scaled.operation.scalar, &scalar, sizeof scalar);
    world.launch(rank, 0).collectives.push_back(scaled);
  }
  ASSERT_TRUE(world.run());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], 30 * static_cast<int>(i));
  EXPECT_EQ(a, b);
}

TEST(Collectives, DifferentCallsAreAFault) {
  World world(2);
  std::vector<int> send(10), receive(20);
  world.launch(0, 0).collectives.push_back(collective(CollectiveKind::all_reduce, send, receive, 10));
  world.launch(1, 0).collectives.push_back(collective(CollectiveKind::all_reduce, send, receive, 9));
  ASSERT_TRUE(world.run());
  std::string message;
  EXPECT_EQ(world.endpoint(0).fault(&message), ncclInternalError);
  EXPECT_EQ(world.endpoint(1).fault(&message), ncclInternalError);
}

}  // namespace
}  // namespace simgpu::nccl
