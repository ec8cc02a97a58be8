// The period of signature sequences: long ones, ones with repeating pieces, start-up, changes.
#include "detector/rhythm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft {
namespace {

constexpr std::uint64_t all_reduce_signature = 1000000;  // the collective at the end of an iteration

std::vector<std::uint64_t> one_f_one_b(int warm_up, int steady, bool sum) {
  std::vector<std::uint64_t> groups;
  for (int i = 0; i < warm_up; ++i) groups.insert(groups.end(), {1, 2});
  groups.push_back(1);
  for (int i = 0; i < steady; ++i) groups.insert(groups.end(), {3, 4});
  groups.back() = 5;
  for (int i = 0; i < warm_up; ++i) groups.insert(groups.end(), {6, 5});
  if (sum) groups.push_back(all_reduce_signature);
  return groups;
}

struct Result {
  std::vector<std::uint32_t> found;  // periods
  std::vector<std::uint64_t> found_at;
  std::size_t lost = 0;
};

class Feed {
 public:
  explicit Feed(std::size_t longest = 65536) : rhythm(longest) {}
  void operator()(std::uint64_t signature) {
    const Rhythm::Change change = rhythm.observe(signature, signature >= all_reduce_signature);
    if (change == Rhythm::Change::lost) ++result.lost;
    if (change != Rhythm::Change::found) return;
    result.found.push_back(rhythm.period());
    result.found_at.push_back(rhythm.size());
  }
  void operator()(const std::vector<std::uint64_t>& groups, int times = 1) {
    for (int i = 0; i < times; ++i)
      for (const std::uint64_t s : groups) (*this)(s);
  }
  Rhythm rhythm;
  Result result;
};

TEST(Rhythm, IsKnownAfterTwoRepeatsWhenACollectiveMarksTheIteration) {
  Feed feed;
  const auto iteration = one_f_one_b(3, 8, true);
  feed(iteration, 5);
  EXPECT_EQ(feed.result.found, std::vector<std::uint32_t>{static_cast<std::uint32_t>(iteration.size())});
  EXPECT_EQ(feed.result.found_at.at(0), 2 * iteration.size());
  EXPECT_EQ(feed.result.lost, 0u);
}

TEST(Rhythm, StartUpGroupsDelayNothing) {
  Feed feed;
  for (std::uint64_t i = 0; i < 37; ++i) feed(all_reduce_signature + 100 + i);
  const auto iteration = one_f_one_b(2, 6, true);
  feed(iteration, 2);
  EXPECT_EQ(feed.rhythm.period(), iteration.size());
  EXPECT_EQ(feed.rhythm.run_begin(), 37u);
}

// Without any collective, and with a steady state long enough to be taken for a rhythm.
TEST(Rhythm, ASteadyStateIsTakenForARhythmOnceAtMost) {
  for (const int steady : {8, 16, 64, 256}) {
    SCOPED_TRACE(steady);
    Feed feed;
    const auto iteration = one_f_one_b(3, steady, false);
    feed(iteration, 3);
    EXPECT_EQ(feed.rhythm.period(), iteration.size());
    EXPECT_LE(feed.result.found.size(), 2u);
    feed(iteration, 20);
    EXPECT_LE(feed.result.found.size(), 2u);
    EXPECT_EQ(feed.rhythm.period(), iteration.size());
  }
}

TEST(Rhythm, ASteadyStateIsNeverSure) {
  Feed feed;
  const auto iteration = one_f_one_b(3, 256, false);
  for (const std::uint64_t s : iteration) {
    feed(s);
    EXPECT_FALSE(feed.rhythm.sure());
  }
  feed(iteration, 5);
  EXPECT_TRUE(feed.rhythm.sure());
}

TEST(Rhythm, OtherNumberOfMicrobatches) {
  Feed feed;
  const auto eight = one_f_one_b(3, 8, true), four = one_f_one_b(3, 4, true);
  feed(eight, 10);
  feed(four, 3);
  EXPECT_EQ(feed.rhythm.period(), four.size());
  EXPECT_EQ(feed.result.lost, 1u);
  feed(eight, 3);
  EXPECT_EQ(feed.rhythm.period(), eight.size());
  EXPECT_EQ(feed.result.lost, 2u);
}

TEST(Rhythm, EvaluationPhasesAgainAndAgain) {
  Feed feed;
  const auto training = one_f_one_b(3, 16, true);
  const std::vector<std::uint64_t> evaluation{21, 22, 21, 22, 21, 22, all_reduce_signature + 1};
  for (int i = 0; i < 10; ++i) {
    feed(training, 20);
    EXPECT_EQ(feed.rhythm.period(), training.size());
    feed(evaluation, 4);
    EXPECT_EQ(feed.rhythm.period(), evaluation.size());
  }
}

// The same collective in both, and in all exactly the same number of iterations between two evaluations.
TEST(Rhythm, RegularEvaluationIsNotPartOfAnIteration) {
  Feed feed;
  const auto training = one_f_one_b(3, 8, true);
  const std::vector<std::uint64_t> evaluation{21, 22, 21, 22, 21, 22, all_reduce_signature};
  for (int i = 0; i < 20; ++i) {
    feed(training, 8);
    EXPECT_EQ(feed.rhythm.period(), training.size()) << i;
    feed(evaluation);
  }
}

TEST(Rhythm, LongPeriodsUpToTheLimit) {
  for (const std::size_t period : {500u, 5000u, 60000u}) {
    SCOPED_TRACE(period);
    Feed feed;
    std::minstd_rand random(static_cast<unsigned>(period));
    std::vector<std::uint64_t> iteration;
    while (iteration.size() < period) iteration.push_back(1 + random() % 4);
    iteration.back() = all_reduce_signature;
    feed(iteration, 3);
    EXPECT_EQ(feed.rhythm.period(), period);
  }
}

TEST(Rhythm, NoneInNoiseAndNoneBeyondTheLimit) {
  Feed noise;
  std::minstd_rand random(5);
  for (int i = 0; i < 300000; ++i) noise(random() % 1000);
  EXPECT_EQ(noise.rhythm.period(), 0u);
  Feed limited(64);
  std::vector<std::uint64_t> iteration;
  for (std::uint64_t i = 0; i < 65; ++i) iteration.push_back(i);
  limited(iteration, 20);
  EXPECT_EQ(limited.rhythm.period(), 0u);
  iteration.pop_back();
  limited(iteration, 20);
  EXPECT_EQ(limited.rhythm.period(), 64u);
}

// After a long time in one rhythm the positions have wrapped around the history many times.
TEST(Rhythm, IsFoundAgainAfterALongTime) {
  Feed feed;
  const auto iteration = one_f_one_b(3, 32, true);
  feed(iteration, 3000);
  feed(77);
  EXPECT_EQ(feed.rhythm.period(), 0u);
  feed(iteration, 3);
  EXPECT_EQ(feed.rhythm.period(), iteration.size());
}

}  // namespace
}  // namespace weft
