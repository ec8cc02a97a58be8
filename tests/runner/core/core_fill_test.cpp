// The core on the simulated driver, filling: slices, control iterations, errors; held against the simulator's own log.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runner/policy/control_schedule.h"
#include "tests/runner/core/failing_launch.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::failing_graph_launch;
using testing::launches_left;
using testing::real_graph_launch;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

// Slices of the fill stream by the time they were launched, with their last end.
std::map<std::int64_t, std::int64_t> slices_in(const std::vector<nlohmann::json>& log) {
  std::map<std::int64_t, std::int64_t> ends;
  for (const auto& record : log) {
    if (!record.contains("launched")) continue;
    std::int64_t& end = ends[record["launched"].get<std::int64_t>()];
    end = std::max(end, record["end"].get<std::int64_t>());
  }
  return ends;
}

std::size_t most_in_flight(const std::map<std::int64_t, std::int64_t>& slices) {
  std::size_t most = 0;
  for (const auto& slice : slices) {
    std::size_t in_flight = 0;
    for (const auto& other : slices) in_flight += other.first <= slice.first && other.second > slice.first ? 1U : 0U;
    most = std::max(most, in_flight);
  }
  return most;
}

// How much that is the training process knows from the trial.
TEST(CoreOnSimulator, MarkedMemoryIsMovable) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,1048576,marked")}, {"WEFT_LOG", "info"}});
  const std::string hello = job.open();
  EXPECT_NE(hello.find("fill job copy has marked 1 MiB of its memory, which may be on the host between two bubbles"),
            std::string::npos)
      << hello;
  train(job, 60);
  job.close();
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_GT(summary.value("fill_units", 0), 1) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
}

TEST(CoreOnSimulator, FillsWithoutBeingNoticed) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  const std::string hello = job.open();
#ifdef __SANITIZE_THREAD__  // its copies may take longer
  const bool warned = hello.find("more than WEFT_SLICE") != std::string::npos;
#else
  const bool warned = false;
#endif
  EXPECT_EQ(std::count(hello.begin(), hello.end(), '\n'), warned ? 2 : 1) << hello;
  train(job, 60);
  job.close();

  const auto trace = job.trace();
  const auto summary = record_of(trace, "summary");
  EXPECT_GT(summary.value("slices", 0), 20) << summary;
  EXPECT_GT(summary.value("fill_units", 0), 1) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;

  const auto ours = job.log("weft-dispatch");
  EXPECT_EQ(count_of(ours, "hazard"), 0U);
  const auto slices = slices_in(ours);
  EXPECT_EQ(slices.size(), summary.value("slices", std::size_t{0}));
  EXPECT_LE(most_in_flight(slices), 2U);
}

// Three passes for each unit: after another number its results are wrong.
TEST(CoreOnSimulator, TheWorkOfAUnitIsRunAgainAsLongAsItSays) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096,passes")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 40);
  job.close();
  const auto trace = job.trace();
  const auto summary = record_of(trace, "summary");
  EXPECT_GT(summary.value("fill_units", 0), 1) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
  std::map<std::uint64_t, std::uint64_t> slices_of;  // a unit
  for (const auto& record : trace) {
    if (record["type"] != "slice") continue;
    EXPECT_EQ(record["slice"], slices_of[record["unit"]]++) << record;
  }
  EXPECT_GE(slices_of[0], 3U) << "at least a slice for each pass";
}

TEST(CoreOnSimulator, AUnitThatIsNotOverAfterAllPassesRefusesTheJob) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096,pass")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 6);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("fill_units", -1), 0);
  EXPECT_NE(record_of(job.trace(), "job").dump().find("not over after 3 passes"), std::string::npos);
}

TEST(CoreOnSimulator, SomeIterationsGoWithoutFillToCompareWith) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 186);  // 62 iterations
  job.close();
  const auto trace = job.trace();
  std::map<std::uint64_t, std::uint64_t> iteration_of;  // a bubble
  for (const auto& record : trace)
    if (record.value("type", "") == "bubble") iteration_of[record["id"]] = record["iteration"];
  std::size_t filled = 0;
  for (const auto& record : trace) {
    if (record.value("type", "") != "slice") continue;
    ++filled;
    EXPECT_FALSE(is_control(iteration_of.at(record["bubble"]))) << record;
  }
  EXPECT_GT(filled, 20U);
  EXPECT_GE(count_of(trace, "slowdown"), 2U);  // after the first and after the second run of iterations without fill
  const auto slowdown = record_of(trace, "summary").value("slowdown", nlohmann::json());
  EXPECT_GE(slowdown.value("control", 0), 5) << slowdown;
  EXPECT_DOUBLE_EQ(slowdown.value("budget", 0.0), 0.01) << slowdown;
}

TEST(CoreOnSimulator, WithoutABudgetNothingIsCompared) {
  SimulatedJob job(
      Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}, {"WEFT_SLOWDOWN_BUDGET", "off"}});
  job.open();
  train(job, 18);
  job.close();
  EXPECT_EQ(count_of(job.trace(), "slowdown"), 0U);
  EXPECT_TRUE(record_of(job.trace(), "summary").at("slowdown").is_null());
}

TEST(CoreOnSimulator, AnErrorTurnsFillingOffOnceAndTheMainJobGoesOn) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  real_graph_launch = job.function<decltype(&::cuGraphLaunch)>("cuGraphLaunch");
  launches_left = 1 << 30;
  SimulatedJob::replaced["cuGraphLaunch"] = reinterpret_cast<void*>(&failing_graph_launch);
  job.open();
  launches_left = 5;
  ::testing::internal::CaptureStderr();
  train(job, 60);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "weft: warning: rank 0: filling is off for the rest of this run: launching a slice failed with "
            "CUDA_ERROR_ILLEGAL_ADDRESS\n");
  job.close();
  const auto trace = job.trace();
  EXPECT_EQ(record_of(trace, "anomaly").value("stops_filling", false), true);
  const auto summary = record_of(trace, "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  EXPECT_GE(summary.value("bubbles", 0), 50) << summary;
}

TEST(CoreOnSimulator, ABubbleWhoseLaunchFailedIsCountedAsUnfilled) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "off"}});
  real_graph_launch = job.function<decltype(&::cuGraphLaunch)>("cuGraphLaunch");
  launches_left = 1 << 30;
  SimulatedJob::replaced["cuGraphLaunch"] = reinterpret_cast<void*>(&failing_graph_launch);
  job.open();
  launches_left = 0;
  train(job, 60);
  job.close();
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  std::uint64_t unfilled = 0;
  for (const auto& [reason, bubbles] : summary.at("unfilled").items()) unfilled += bubbles.get<std::uint64_t>();
  EXPECT_EQ(unfilled, summary.value("bubbles", std::uint64_t{0})) << summary;
}

}  // namespace
}  // namespace weft
