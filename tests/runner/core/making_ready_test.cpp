// A fill job that is made ready next to work of the training: nobody waits for that work without a bound, and the
// training goes on whatever the driver does.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

std::chrono::steady_clock::duration time_of(const std::function<void()>& call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - began;
}

bool becomes_true(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(20ms);
  return condition();
}

// Work in flight when the first communicator is made may end only by what the program does after that.
TEST(MakingReady, IsPutOffNextToWorkOfTheTraining) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "info"}});
  job.begin_unseen_group();
  std::string said;
  EXPECT_LT(time_of([&] { said = job.open(); }), 6s);
  EXPECT_NE(said.find("the GPU is at work: fill job "), std::string::npos) << said;
  EXPECT_TRUE(job.quiet_moments_wanted);
  job.core.quiet_moment(0);
  EXPECT_TRUE(job.quiet_moments_wanted) << "the GPU is still at work";
  job.end_group();
  EXPECT_TRUE(becomes_true([&] { return job.core.quiet_moment(0), !job.quiet_moments_wanted; }, 20s));
  train(job, 60);
  job.close();
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_GT(summary.value("slices", 0), 20) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
}

TEST(MakingReady, ThatNeverWasQuietIsNamedInTheSummary) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.begin_unseen_group();
  job.open();
  job.end_group();
  train(job, 18);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("reason", ""),
            "the GPU was at work when the first communicator was made, and no quiet moment came later");
}

// The job, or the driver, stands for longer than the training may be held up.
TEST(MakingReady, IsGivenUpAfterAWhile) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,stand15")}});
  const std::size_t before = free_memory(job);
  std::string said;
  const auto took = time_of([&] { said = job.open(); });
  EXPECT_GE(took, 4s);
  EXPECT_LT(took, 11s);
  EXPECT_NE(said.find(" could not be made ready within 4 s: "), std::string::npos) << said;
  EXPECT_NE(said.find("; observing only\n"), std::string::npos) << said;
  train(job, 18);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("filling_stopped", false), true);
  EXPECT_LT(free_memory(job), before) << "the job still stands there";
  ::testing::internal::CaptureStderr();
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("work next to an earlier reservation has not ended"),
            std::string::npos);
  job.core.communicator_closing(2);
  EXPECT_TRUE(becomes_true([&] { return free_memory(job) == before; }, 20s)) << "and has been freed since";
  EXPECT_FALSE(job.turned_off);
}

// A receive that another thread posts meanwhile: an allocation of pinned memory waits for it in this driver, as it may
// on hardware, and the receive for what this thread does next.
TEST(MakingReady, DoesNotHoldUpWhatAReceiveWaitsFor) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,stand2")}});
  const std::size_t before = free_memory(job);
  std::thread other([&] {
    job.use_context();
    while (free_memory(job) == before) std::this_thread::sleep_for(10ms);
    std::this_thread::sleep_for(500ms);
    job.begin_unseen_group();
  });
  std::string said;
  EXPECT_LT(time_of([&] { said = job.open(); }), 12s);
  other.join();
  EXPECT_NE(said.find(" could not be made ready within 4 s: "), std::string::npos) << said;
  job.end_group();
  EXPECT_TRUE(becomes_true([&] { return free_memory(job) == before; }, 20s));
  train(job, 18);
  job.close();
  EXPECT_FALSE(job.turned_off);
}

}  // namespace
}  // namespace weft
