// Variants of a fill job that change while the training runs: when, with which state, and what trace and summary say of
// it. Each test takes a quarter of a minute or more: a variant gives way after 64 iterations in a row.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "runner/clock.h"
#include "tests/runner/core/job_with_variants.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using namespace testing;

// A copy of so many bytes to the GPU takes longer than a bubble of a millisecond.
#ifdef __SANITIZE_THREAD__
const std::string large = "4000000";
#else
const std::string large = "30000000";
#endif

TEST(VariantChanges, OneThatNoBubbleHasRoomForGivesWay) {
  const std::string one_step = job_with("[\"" + large + "\", \"4096\"]", "", "1");  // which is soon tried
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(one_step)}, {"WEFT_SLOWDOWN_BUDGET", "off"}});
  const std::size_t before = testing::free_memory(job);
  job.open();
  trains_until(job, 0us, 60s, [] { return SimulatedJob::times_reserved == 2; });
  EXPECT_EQ(before - testing::free_memory(job), 64U << 20) << "the memory of one of them";
  for (int turn = 0; turn < 60; ++turn) job.microbatch(6ms);
  job.wait_for_gpu();
  job.close();
  EXPECT_EQ(testing::free_memory(job), before);
  const Lines lines = job_lines(job, 0);
  EXPECT_EQ(events(lines), (Events{"ready " + large, "withdrawn " + large, "ready 4096"}));
  const std::string why = "no bubble of 64 iterations had room for " + large + ", whose next slice takes ";
  EXPECT_TRUE(lines.at(1).value("why", "").starts_with(why)) << lines[1];
  EXPECT_TRUE(lines.at(2).value("why", "").starts_with(why)) << lines[2];
  const auto summary = record_of(job.trace(), "summary");
  ASSERT_EQ(summary["jobs"].size(), 1U);
  EXPECT_EQ(summary["jobs"][0].value("variant", ""), "4096");
  EXPECT_GT(summary["jobs"][0].value("units", 0), 5) << summary;
  EXPECT_EQ(summary["jobs"][0].value("units_wrong", 1), 0) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
  EXPECT_EQ(count_of(job.log("weft-dispatch"), "hazard"), 0U);
}

// The one that has begun anew is told so, in memory: nothing is kept in a file here.
std::string trains_and_says(SimulatedJob& job, const std::function<bool()>& is_over,
                            std::chrono::microseconds wait = 0us) {
  ::testing::internal::CaptureStderr();
  trains_until(job, wait, 90s, is_over);
  return ::testing::internal::GetCapturedStderr();
}

Variables told(const std::string& variants) {
  return {{"WEFT_FILL", jobs(job_with(variants))}, {"WEFT_LOG", "info"}, {"WEFT_SLOWDOWN_BUDGET", "off"}};
}

TEST(VariantChanges, TheTrainingGoesOnWhileTheStateIsSaved) {
  SimulatedJob job(told(R"(["30000000,slowsave", "4096"])"));
  job.open();
  trains_and_says(job, copy_job_saves);
  int microbatches = 0;
  for (; copy_job_saves(); ++microbatches) job.microbatch(0us);
  EXPECT_GT(microbatches, 3) << "of 300 ms";
  const std::string said = trains_and_says(job, [] { return SimulatedJob::times_reserved == 2; });
  EXPECT_NE(said.find("takes up "), std::string::npos) << said;
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(events(lines), (Events{"ready 30000000,slowsave", "withdrawn 30000000,slowsave", "ready 4096"}));
  EXPECT_EQ(lines[0].value("held", -1), 0) << "before the training began";
  EXPECT_GT(lines[2].value("held", 0), 0);
  EXPECT_EQ(record_of(job.trace(), "summary")["jobs"][0].value("held", 0), lines[2].value("held", -1));
}

TEST(VariantChanges, ARescueWaitsUntilTheStateIsSaved) {
  SimulatedJob job(told(R"(["30000000,slowsave", "4096"])"));
  const std::size_t before = testing::free_memory(job);
  job.open();
  trains_and_says(job, copy_job_saves);
  EXPECT_TRUE(testing::rescued_soon(job));
  EXPECT_FALSE(copy_job_saves());
  EXPECT_EQ(testing::free_memory(job), before);
  train(job, 6);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), Events{"ready 30000000,slowsave"});
  EXPECT_EQ(count_of(job.log("weft-dispatch"), "hazard"), 0U);
}

TEST(VariantChanges, ADeviceThatClosesWaitsUntilTheStateIsSaved) {
  SimulatedJob job(told(R"(["30000000,slowsave", "4096"])"));
  const std::size_t before = testing::free_memory(job);
  job.open();
  trains_and_says(job, copy_job_saves);
  job.close();
  EXPECT_FALSE(copy_job_saves());
  EXPECT_EQ(testing::free_memory(job), before);
}

// Each change costs the training the time in which the next one is made ready.
TEST(VariantChanges, UnderASmallBudgetItStaysAsItIs) {
  Variables variables = told(R"(["30000000", "4096"])");
  variables["WEFT_SLOWDOWN_BUDGET"] = "0.001%";
  SimulatedJob job(variables);
  job.open();
  const auto until = std::chrono::steady_clock::now() + 15s;
  trains_and_says(job, [&] { return std::chrono::steady_clock::now() > until; });
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), Events{"ready 30000000"});
}

TEST(VariantChanges, OneWhoseStateCannotBeSavedStays) {
  SimulatedJob job(told(R"(["30000000,badsave", "4096"])"));
  job.open();
  const std::string said = trains_and_says(job, [&] { return !job.quiet_moments_wanted; });
  EXPECT_NE(said.find("save failed"), std::string::npos) << said;
  EXPECT_NE(said.find("the job keeps its variant"), std::string::npos) << said;
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)), Events{"ready 30000000,badsave"});
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
}

TEST(VariantChanges, OneThatRefusesTheStateGivesWay) {
  SimulatedJob job(told(R"(["30000000", "4096,refuses", "2048"])"));
  job.open();
  const std::string said = trains_and_says(job, [] { return SimulatedJob::times_reserved == 3; });
  EXPECT_NE(said.find("restore failed"), std::string::npos) << said;
  for (int turn = 0; turn < 60; ++turn) job.microbatch(6ms);
  job.wait_for_gpu();
  job.close();
  const Lines lines = job_lines(job, 0);
  EXPECT_EQ(events(lines), (Events{"ready 30000000", "withdrawn 30000000", "ready 2048"}));
  const std::string why = lines.back().value("why", "");
  EXPECT_TRUE(why.starts_with("4096,refuses cannot be run: ")) << why;
  EXPECT_EQ(record_of(job.trace(), "summary").value("filling_stopped", true), false);
}

TEST(VariantChanges, WhereTheNextOneFailsTheOneBeforeGoesOn) {
  SimulatedJob job(told(R"(["30000000", "4096,never"])"));
  job.open();
  const std::string said = trains_and_says(job, [] { return SimulatedJob::times_reserved == 2; });
  EXPECT_NE(said.find("not in a training: another variant of it may run"), std::string::npos) << said;
  for (int turn = 0; turn < 60; ++turn) job.microbatch(30ms);
  job.wait_for_gpu();
  job.close();
  const Lines lines = job_lines(job, 0);
  EXPECT_EQ(events(lines), (Events{"ready 30000000", "withdrawn 30000000", "ready 30000000"}));
  const std::string why = lines.back().value("why", "");
  EXPECT_TRUE(why.starts_with("4096,never cannot be run: ")) << why;
  EXPECT_EQ(record_of(job.trace(), "summary").value("filling_stopped", true), false);
}

TEST(VariantChanges, WhereNoneIsLeftFillingEndsForThatReason) {
  SimulatedJob job(told(R"(["30000000,once", "4096,never"])"));
  job.open();
  trains_and_says(job, [&] { return !job.quiet_moments_wanted; });
  train(job, 18);
  job.close();
  EXPECT_EQ(events(job_lines(job, 0)),
            (Events{"ready 30000000,once", "withdrawn 30000000,once", "refused 30000000,once"}));
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  EXPECT_NE(summary.value("reason", "").find("not again"), std::string::npos) << summary;
}

TEST(VariantChanges, OneThatIsNotReadyAgainAtTheEndIsNamed) {
  SimulatedJob job(told(R"(["30000000", "4096,sleep20"])"));
  job.open();
  const std::uint32_t before = SimulatedJob::times_given_back;
  trains_and_says(job, [&] { return SimulatedJob::times_given_back > before; });
  const std::string said = job.close();
  EXPECT_NE(said.find("tune was not run again after a change of its variant: the trial of"), std::string::npos) << said;
  const Lines lines = job_lines(job, 0);
  EXPECT_EQ(events(lines), (Events{"ready 30000000", "withdrawn 30000000", "refused 4096,sleep20"}));
}

// Of the work no event tells, so only the streams do.
TEST(VariantChanges, NextToWorkOfTheTrainingNothingIsReleased) {
  SimulatedJob job(told(R"(["30000000", "4096"])"));
  job.open();
  for (int turn = 0; turn < 400; ++turn) {
    four_iterations(job, 0us);
    job.begin_unseen_group();
    job.core.quiet_moment(0);
    job.end_group();
  }
  const std::int64_t ends = now().time_since_epoch().count();
  trains_until(job, 0us, 90s, [] { return SimulatedJob::times_reserved == 2; });
  job.close();
  const Lines lines = job_lines(job, 0);
  ASSERT_EQ(events(lines), (Events{"ready 30000000", "withdrawn 30000000", "ready 4096"}));
  EXPECT_LT(lines[1].value("time", std::int64_t{0}), ends) << "for its state the training does not have to be still";
  std::int64_t released = 0;
  for (const auto& line : job.trace())
    if (line.value("type", "") == "memory" && line.value("event", "") == "released" && released == 0)
      released = line.value("time", std::int64_t{0});
  EXPECT_GT(released, ends);
}

// The first job has the memory until it has done its units.
TEST(VariantChanges, ABetterOneComesBackWithMemoryAndTheState) {
  const std::string first = "[[job]]\nfill = \"" + copy_job("12,4096") + "\"\nmemory = \"48MiB\"\nunits = 3\n";
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(first + job_with(R"(["20000000", "2048"])", "memory = \"64MiB\""))},
                             {"WEFT_SLOWDOWN_BUDGET", "off"},
                             {"WEFT_LOG", "info"}});
  job.open();
  const std::string said = trains_and_says(
      job, [] { return SimulatedJob::times_reserved == 3; }, 6ms);
  EXPECT_NE(said.find("takes up "), std::string::npos) << said;
  EXPECT_EQ(said.find("takes up 0 units"), std::string::npos) << said;
  train(job, 60);
  job.close();
  const Lines lines = job_lines(job, 1);
  EXPECT_EQ(events(lines), (Events{"ready 2048", "withdrawn 2048", "ready 20000000"}));
  EXPECT_EQ(lines.at(1).value("why", ""), "there may be room for 20000000");
  EXPECT_EQ(lines.at(2).value("memory", 0U), 64U << 20);
  EXPECT_EQ(events(job_lines(job, 0)), (Events{"ready ", "done "}));
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary.value("fill_units_wrong", 1), 0) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
}

// Likewise, but by then the training has taken some: the GPU has less left than the job may have, and enough for it.
TEST(VariantChanges, ABetterOneComesBackInTheMemoryThatTheGpuHasLeft) {
  const std::string first = "[[job]]\nfill = \"" + copy_job("12,4096") + "\"\nmemory = \"48MiB\"\nunits = 3\n";
  SimulatedJob job(Variables{{"WEFT_FILL", jobs(first + job_with(R"(["20000000", "2048"])", "memory = \"64MiB\""))},
                             {"SIMGPU_MEMORY", "128MiB"},
                             {"WEFT_HEADROOM", "32MiB"},
                             {"WEFT_SLOWDOWN_BUDGET", "off"},
                             {"WEFT_LOG", "info"}});
  const std::size_t before = testing::free_memory(job);
  job.open();
  trains_until(job, 6ms, 60s, [] { return SimulatedJob::times_reserved == 2; });
  trains_until(job, 6ms, 60s, [&] { return before - testing::free_memory(job) == 16U << 20; });
  CUdeviceptr memory = 0;
  ASSERT_EQ(job.function<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2")(&memory, 40U << 20), CUDA_SUCCESS);
  trains_and_says(
      job, [] { return SimulatedJob::times_reserved == 3; }, 6ms);
  train(job, 60);
  job.close();
  const Lines lines = job_lines(job, 1);
  EXPECT_EQ(events(lines), (Events{"ready 2048", "withdrawn 2048", "ready 20000000"}));
  EXPECT_EQ(lines.back().value("memory", 0U), 56U << 20);
}

}  // namespace
}  // namespace weft
