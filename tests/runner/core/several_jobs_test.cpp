// Several fill jobs on one device: what each of them loses and keeps when the training needs memory, when one comes
// late, and when filling is over.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

std::string both(const std::string& first, const std::string& second) {
  return copy_job(first) + ";" + copy_job(second);
}

// Events of the jobs, as "0 ready".
std::multiset<std::string> events(const SimulatedJob& job) {
  std::multiset<std::string> all;
  for (const auto& line : job.trace())
    if (line.value("type", "") == "job")
      all.insert(std::to_string(line.value("job", -1)) + " " + line.value("event", ""));
  return all;
}
using Events = std::multiset<std::string>;

TEST(SeveralJobs, FillBesideEachOtherAndGiveAllTheirMemoryBack) {
  SimulatedJob job(Variables{{"WEFT_FILL", both("12,4096", "6,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = testing::free_memory(job);
  job.open();
  EXPECT_EQ(before - testing::free_memory(job), 64U << 20) << "the two halves";
  train(job, 60);
  EXPECT_TRUE(testing::rescued_soon(job));
  EXPECT_EQ(testing::free_memory(job), before);
  EXPECT_FALSE(job.core.rescue_memory(0)) << "there is nothing more to give";
  train(job);
  job.close();
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  EXPECT_EQ(events(job), (Events{"0 ready", "1 ready"}));
  ASSERT_EQ(summary["jobs"].size(), 2U);
  for (const auto& of_job : summary["jobs"]) EXPECT_GT(of_job.value("slices", 0), 5) << summary;
  EXPECT_EQ(count_of(job.log("weft-dispatch"), "hazard"), 0U);
}

TEST(SeveralJobs, OneThatComesLateJoinsTheOthers) {
  SimulatedJob job(Variables{{"WEFT_FILL", both("12,4096", "6,4096,sleep7")}, {"WEFT_LOG", "error"}});
  job.open();
  EXPECT_TRUE(job.quiet_moments_wanted);
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
  train(job, 30);
  EXPECT_TRUE(testing::no_quiet_moment_is_wanted(job, 60s));
  EXPECT_EQ(SimulatedJob::times_reserved, 2);
  train(job, 60);
  job.close();
  EXPECT_EQ(events(job), (Events{"0 ready", "1 ready"}));
  const auto summary = record_of(job.trace(), "summary");
  for (const auto& of_job : summary["jobs"]) EXPECT_GT(of_job.value("slices", 0), 5) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
}

TEST(SeveralJobs, NoneIsMadeReadyWhenFillingIsOver) {
  SimulatedJob job(Variables{{"WEFT_FILL", both("12,4096", "6,4096,sleep7")}, {"WEFT_LOG", "error"}});
  const std::size_t before = testing::free_memory(job);
  job.open();
  train(job, 30);
  // The trial first, and what the first job has beside it.
  job.core.rescue_memory(0);
  testing::rescued_soon(job);
  EXPECT_EQ(testing::free_memory(job), before);
  train(job, 6);
  EXPECT_TRUE(testing::no_quiet_moment_is_wanted(job, 20s));
  EXPECT_EQ(SimulatedJob::times_reserved, 1) << "nothing was reserved anew";
  EXPECT_EQ(testing::free_memory(job), before);
  job.close();
  EXPECT_EQ(events(job), (Events{"0 ready", "1 refused"}));
}

TEST(SeveralJobs, OneThatCannotBeTriedLeavesTheOthers) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096") + ";" + WEFT_TEST_JOBS "/bad_init_crashes.so"}});
  const std::string said = job.open();
  EXPECT_NE(said.find("bad_init_crashes.so"), std::string::npos) << said;
  EXPECT_EQ(said.find("observing only"), std::string::npos) << said;
  train(job, 60);
  job.close();
  EXPECT_EQ(events(job), (Events{"0 ready", "1 refused"}));
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_GT(summary.value("slices", 0), 10) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
}

TEST(SeveralJobs, WhereNoneCanBeTriedItOnlyObserves) {
  const std::string bad = WEFT_TEST_JOBS "/bad_init_fails.so";
  SimulatedJob job(Variables{{"WEFT_FILL", bad + ";" + bad}});
  const std::string said = job.open();
  EXPECT_NE(said.find("none of the fill jobs can be run; observing only"), std::string::npos) << said;
  train(job, 18);
  job.close();
  EXPECT_EQ(events(job), (Events{"0 refused", "1 refused"}));
  EXPECT_EQ(record_of(job.trace(), "summary").value("reason", ""), "none of the fill jobs can be run");
}

TEST(SeveralJobs, AListThatIsWrongIsSaidAndObserved) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096") + ";"}});
  const std::string said = job.open();
  EXPECT_NE(said.find("a job has no path; observing only"), std::string::npos) << said;
  train(job, 18);
  job.close();
  EXPECT_FALSE(job.turned_off);
}

}  // namespace
}  // namespace weft
