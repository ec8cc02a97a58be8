// Which job of a queue a rank is given: by what it offers, and by the policy.
#include "runner/policy/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

RankOffer offer(std::uint64_t memory, Duration bubble) {
  RankOffer made{memory, {}};
  for (int i = 0; i < 10; ++i) made.bubbles.add(bubble);
  return made;
}

WaitingJob job(std::uint64_t memory, Duration slice) {
  WaitingJob made;
  made.memory = memory;
  made.slice = slice;
  return made;
}

TEST(Placement, AJobGoesWhereThereIsMemoryForIt) {
  const RankOffer rank = offer(2 * gib, 10ms);
  EXPECT_TRUE(goes_on(job(2 * gib, {}), rank));
  EXPECT_FALSE(goes_on(job(2 * gib + 1, {}), rank));
  WaitingJob lacked = job(0, {});
  EXPECT_TRUE(goes_on(lacked, rank));
  lacked.lacked = 2 * gib;
  EXPECT_FALSE(goes_on(lacked, rank)) << "it was tried with so much";
  EXPECT_TRUE(goes_on(lacked, offer(3 * gib, 10ms)));
}

TEST(Placement, LongSlicesGoToLongBubbles) {
  EXPECT_TRUE(goes_on(job(0, 5ms), offer(gib, 10ms)));
  EXPECT_FALSE(goes_on(job(0, 5ms), offer(gib, 2ms)));
  EXPECT_TRUE(goes_on(job(0, 5ms), RankOffer{gib, {}})) << "its bubbles are not known yet";
  RankOffer mixed = offer(gib, 1ms);  // 10 ms in all
  EXPECT_FALSE(goes_on(job(0, 5ms), mixed));
  mixed.bubbles.add(7ms);
  EXPECT_TRUE(goes_on(job(0, 5ms), mixed)) << "41 % of the idle time";
}

TEST(Placement, ARankTakesTheMostDemandingJobThatGoesOnIt) {
  const std::vector jobs{job(0, 100us), job(gib, 100us), job(0, 5ms), job(8 * gib, 5ms)};
  EXPECT_EQ(placed(jobs, offer(gib, 20ms), JobPolicy::throughput), 2U);
  EXPECT_EQ(placed(jobs, offer(16 * gib, 20ms), JobPolicy::throughput), 3U);
  EXPECT_EQ(placed(jobs, offer(16 * gib, 1ms), JobPolicy::throughput), 1U);
  EXPECT_EQ(placed(jobs, offer(gib / 2, 1ms), JobPolicy::throughput), 0U);
  EXPECT_FALSE(placed({}, offer(gib, 1ms), JobPolicy::throughput));
}

TEST(Placement, EqualJobsGoInTheirOrderAndThoseThatNobodyWorksOnBefore) {
  std::vector jobs{job(0, {}), job(0, {}), job(0, {})};
  const RankOffer rank = offer(gib, 1ms);
  EXPECT_EQ(placed(jobs, rank, JobPolicy::throughput), 0U);
  jobs[0].ranks = 1;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::throughput), 1U);
  jobs[1].ranks = jobs[2].ranks = 1;
  jobs[2].terms.weight = 2;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::throughput), 2U) << "it is worth twice as many ranks";
}

TEST(Placement, APolicyGoesFirst) {
  std::vector jobs{job(0, 5ms), job(0, 1ms), job(0, 1ms)};
  const RankOffer rank = offer(gib, 20ms);
  jobs[1].terms.priority = 3;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::priority), 1U);
  jobs[2].terms.deadline = 100s;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::deadline), 2U) << "one without a deadline comes last";
  jobs[1].work_left = 10;
  jobs[2].work_left = 20;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::shortest), 1U) << "one that nobody knows comes last";
  jobs[0].had = 4;
  jobs[1].had = 4;
  jobs[1].terms.weight = 4;
  jobs[2].had = 2;
  EXPECT_EQ(placed(jobs, rank, JobPolicy::fair), 1U);
}

TEST(Placement, APolicyDoesNotPutAJobWhereItDoesNotGo) {
  std::vector jobs{job(0, 1ms), job(0, 50ms)};
  jobs[1].terms.priority = 9;
  EXPECT_EQ(placed(jobs, offer(gib, 20ms), JobPolicy::priority), 0U);
}

}  // namespace
}  // namespace weft
