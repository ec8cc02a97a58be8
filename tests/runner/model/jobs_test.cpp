// Several fill jobs beside each other in virtual time: each policy does what it says.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "runner/model/simulation.h"

namespace weft::model {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

JobOptions job_of(std::size_t kernels, Duration kernel, const JobTerms& terms = {}) {
  return {std::vector<Duration>(kernels, kernel), terms, {}};
}

Simulation filled_with(JobPolicy policy, const std::vector<JobOptions>& jobs) {
  SimulationOptions options;
  options.slowdown_budget = Budget::unlimited;
  options.run.jobs = jobs;
  options.run.job_policy = policy;
  pipeline::WorldOptions& world = options.run.world;
  world.schedule.microbatches = 8;
  world.iterations = 40;
  world.jitter = 0.05;
  return simulate(options);
}

double share_of(const Simulation& result, std::size_t job) {
  Duration all{};
  for (const JobResult& each : result.jobs) all += each.filled;
  return static_cast<double>(result.jobs[job].filled.count()) / static_cast<double>(all.count());
}

TEST(Jobs, OfOtherPrioritiesTheHigherOneGetsAlmostAll) {
  const Simulation result =
      filled_with(JobPolicy::priority, {job_of(40, microseconds(25)), job_of(400, microseconds(25), {.priority = 1})});
  EXPECT_GT(share_of(result, 1), 0.9);
  EXPECT_GT(result.jobs[0].units, 0U) << "while a unit of the other one waits for its end";
}

TEST(Jobs, FairSharesAreThoseOfTheWeights) {
  const Simulation result = filled_with(
      JobPolicy::fair,
      {job_of(40, microseconds(25)), job_of(100, microseconds(50), {.weight = 3}), job_of(10, microseconds(100))});
  EXPECT_NEAR(share_of(result, 0), 0.2, 0.01);
  EXPECT_NEAR(share_of(result, 1), 0.6, 0.01);
  EXPECT_NEAR(share_of(result, 2), 0.2, 0.01);
}

// Its slices are of 6 ms: what is left of a bubble is for the other one.
TEST(Jobs, ShortKernelsFillWhatLongOnesLeave) {
  const JobOptions long_one = job_of(4, milliseconds(6), {.priority = 1}), short_one = job_of(40, microseconds(25));
  const double alone = filled_with(JobPolicy::priority, {long_one}).conversion;
  const Simulation both = filled_with(JobPolicy::priority, {short_one, long_one});
  EXPECT_GT(both.conversion, alone + 0.05);
  EXPECT_GT(both.jobs[0].units, 0U);
  EXPECT_GT(both.jobs[1].units, 0U);
}

TEST(Jobs, ForThroughputNothingIsLostByASecondOne) {
  const JobOptions short_one = job_of(40, microseconds(25)), long_one = job_of(4, milliseconds(6));
  const double alone = filled_with(JobPolicy::throughput, {short_one}).conversion;
  EXPECT_GT(filled_with(JobPolicy::throughput, {short_one, long_one}).conversion, alone - 0.01);
}

TEST(Jobs, ADeadlineIsMetByThatPolicyOnly) {
  const Duration deadline = seconds(6);
  const std::vector<JobOptions> jobs{job_of(40, microseconds(25), {.priority = 2, .units = 4000}),
                                     job_of(40, microseconds(25), {.deadline = deadline, .units = 1200})};
  for (const JobPolicy policy : {JobPolicy::priority, JobPolicy::fair, JobPolicy::deadline}) {
    const std::optional<TimePoint> done = filled_with(policy, jobs).jobs[1].ended;
    const bool is_met = done && *done <= TimePoint{} + deadline;
    EXPECT_EQ(is_met, policy == JobPolicy::deadline) << job_policy_names[static_cast<std::size_t>(policy)] << ' '
                                                     << (done ? done->time_since_epoch() / milliseconds(1) : -1);
  }
}

TEST(Jobs, TheShortestFirstEndsThemSoonerOnAverage) {
  const std::vector<JobOptions> jobs{job_of(40, microseconds(25), {.units = 1500}),
                                     job_of(40, microseconds(25), {.units = 200}),
                                     job_of(40, microseconds(25), {.units = 500})};
  const auto mean_end = [&](JobPolicy policy) {
    Duration sum{};
    for (const JobResult& job : filled_with(policy, jobs).jobs) {
      EXPECT_TRUE(job.ended.has_value());
      EXPECT_EQ(job.units % 4, 0U) << "the same on all four ranks";
      sum += job.ended.value_or(TimePoint{}).time_since_epoch();
    }
    return sum / 3;
  };
  EXPECT_LT(mean_end(JobPolicy::shortest), mean_end(JobPolicy::fair));
}

// Of 3, 0.4 and 0.2 s of fill work. In the first 2 s the long one has had no more than 2 of its 3 s, the others are
// shorter than what is left of it.
std::vector<JobResult> mix(JobPolicy policy) {
  std::vector<JobOptions> jobs{job_of(40, microseconds(25), {.deadline = seconds(60), .units = 3000}),
                               job_of(40, microseconds(25), {.deadline = seconds(40), .units = 400}),
                               job_of(40, microseconds(25), {.deadline = seconds(50), .units = 200})};
  jobs[1].arrives = jobs[2].arrives = seconds(2);
  return filled_with(policy, jobs).jobs;
}

TEST(JobMix, NothingOfAJobRunsBeforeItArrives) {
  for (const JobPolicy policy :
       {JobPolicy::throughput, JobPolicy::priority, JobPolicy::fair, JobPolicy::deadline, JobPolicy::shortest}) {
    const std::vector<JobResult> jobs = mix(policy);
    EXPECT_EQ(jobs[0].arrived, TimePoint{});
    EXPECT_EQ(jobs[1].arrived, TimePoint{seconds(2)});
    for (const JobResult& job : jobs) {
      ASSERT_TRUE(job.began && job.ended) << static_cast<int>(policy);
      EXPECT_GE(*job.began, job.arrived);
      EXPECT_GT(*job.ended, *job.began);
    }
    EXPECT_EQ(jobs[1].units, 4 * 400U) << "on all four ranks";
  }
}

TEST(JobMix, TheShortestAndTheEarliestDeadlineGoFirst) {
  const std::vector<JobResult> shortest = mix(JobPolicy::shortest), deadline = mix(JobPolicy::deadline);
  EXPECT_LT(shortest[2].ended, shortest[1].ended);
  EXPECT_LT(shortest[1].ended, shortest[0].ended);
  EXPECT_LT(deadline[1].ended, deadline[2].ended);
  EXPECT_LT(deadline[2].ended, deadline[0].ended);
  EXPECT_LT(shortest[2].ended, deadline[2].ended);
}

// A rank has 3 s of the long job before it, of which it has done little; the newcomer is owed nothing for that time,
// and does not have the GPU to itself until it is even.
TEST(JobMix, AJobThatComesLaterSharesFromThenOn) {
  std::vector<JobOptions> jobs{job_of(40, microseconds(25)), job_of(40, microseconds(25))};
  jobs[1].arrives = seconds(7);  // of 14
  const Simulation result = filled_with(JobPolicy::fair, jobs);
  EXPECT_NEAR(share_of(result, 1), 0.25, 0.03);
}

TEST(JobMix, OneThatArrivesTooLateDoesNothing) {
  std::vector<JobOptions> jobs{job_of(40, microseconds(25)), job_of(40, microseconds(25), {.units = 1})};
  jobs[1].arrives = seconds(1000);
  const JobResult late = filled_with(JobPolicy::fair, jobs).jobs[1];
  EXPECT_FALSE(late.began || late.ended);
  EXPECT_EQ(late.units, 0U);
}

TEST(JobMix, OutOfOrderIsRefused) {
  std::vector<JobOptions> jobs{job_of(40, microseconds(25)), job_of(40, microseconds(25))};
  jobs[0].arrives = seconds(1);
  EXPECT_THROW(filled_with(JobPolicy::fair, jobs), std::invalid_argument);
}

TEST(Jobs, AfterTheLastUnitNothingMoreRuns) {
  const Simulation result = filled_with(JobPolicy::throughput, {job_of(40, microseconds(25), {.units = 10})});
  EXPECT_EQ(result.jobs[0].units, 40U);
  EXPECT_EQ(result.jobs[0].filled, 40 * milliseconds(1));
}

}  // namespace
}  // namespace weft::model
