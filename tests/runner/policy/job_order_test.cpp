// The order in which fill jobs are asked for a slice.
#include "runner/policy/job_order.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

JobStanding job(JobTerms terms, Duration filled = {}) {
  JobStanding made;
  made.terms = terms;
  made.ready = true;
  made.filled = filled;
  made.unit = 10ms;
  return made;
}

std::vector<int> order(JobPolicy policy, const std::vector<JobStanding>& jobs) {
  const JobOrder made(policy, jobs);
  return {made.numbers().begin(), made.numbers().end()};
}

TEST(JobOrder, HasNothingButJobsThatAreReady) {
  std::vector<JobStanding> jobs{job({}), job({}), job({})};
  jobs[1].ready = false;
  for (const JobPolicy policy :
       {JobPolicy::throughput, JobPolicy::priority, JobPolicy::fair, JobPolicy::deadline, JobPolicy::shortest})
    EXPECT_EQ(order(policy, jobs), (std::vector{0, 2}));
  EXPECT_TRUE(order(JobPolicy::fair, {}).empty());
}

TEST(JobOrder, ByPriorityTheLargestIsFirst) {
  EXPECT_EQ(order(JobPolicy::priority, {job({.priority = -1}), job({.priority = 3}), job({})}), (std::vector{1, 2, 0}));
}

TEST(JobOrder, FairIsWhoHasHadLeastByItsWeight) {
  EXPECT_EQ(order(JobPolicy::fair, {job({.weight = 1}, 10ms), job({.weight = 3}, 27ms), job({.weight = 1}, 8ms)}),
            (std::vector{2, 1, 0}));
}

TEST(JobOrder, TheEarliestDeadlineIsFirstAndWhoHasNoneLast) {
  EXPECT_EQ(order(JobPolicy::deadline, {job({}), job({.deadline = 2h}), job({.deadline = 1h})}),
            (std::vector{2, 1, 0}));
}

TEST(JobOrder, TheShortestHasTheLeastWorkLeftAndWhoGoesOnIsLast) {
  std::vector<JobStanding> jobs{job({}), job({.units = 100}), job({.units = 50})};
  EXPECT_EQ(order(JobPolicy::shortest, jobs), (std::vector{2, 1, 0}));
  jobs[1].done = 70;
  EXPECT_EQ(order(JobPolicy::shortest, jobs), (std::vector{1, 2, 0}));
  jobs[2].unit = 1ms;
  EXPECT_EQ(order(JobPolicy::shortest, jobs), (std::vector{2, 1, 0}));
}

TEST(JobOrder, UnitsOfManyPassesAreLong) {
  std::vector<JobStanding> jobs{job({.units = 100}), job({.units = 100})};
  for (JobStanding& each : jobs) each.done = 10;
  jobs[0].passes = 20;
  EXPECT_EQ(order(JobPolicy::shortest, jobs), (std::vector{1, 0}));
}

TEST(JobOrder, EqualOnesShare) {
  EXPECT_EQ(order(JobPolicy::priority, {job({.priority = 1}, 9ms), job({.priority = 1}, 2ms)}), (std::vector{1, 0}));
  EXPECT_EQ(order(JobPolicy::deadline, {job({}, 9ms), job({}, 2ms)}), (std::vector{1, 0}));
}

TEST(JobOrder, WhoComesLaterDoesNotStarveTheOthers) {
  const std::vector<JobStanding> others{job({.weight = 1}, 1s), job({.weight = 2}, 4s)};
  JobStanding late = job({.weight = 2});
  late.head_start = head_start_beside(others, 2);
  EXPECT_EQ(late.head_start, Duration(2s));
  std::vector<JobStanding> jobs = others;
  jobs.push_back(late);
  EXPECT_EQ(order(JobPolicy::fair, jobs), (std::vector{0, 2, 1}));
  EXPECT_EQ(head_start_beside({}, 2), Duration{});
}

}  // namespace
}  // namespace weft
