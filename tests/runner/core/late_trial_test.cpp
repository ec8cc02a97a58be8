// A trial that takes longer than a training may wait for it: the training goes on after some seconds, once, and its
// summary says what became of the fill job.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runner/core/trials.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

std::string hanging_job() {
  return std::string(WEFT_TEST_JOBS) + "/bad_init_hangs.so";
}

// With the time that a busy machine takes for everything else; a second wait would be longer.
constexpr auto one_wait = longest_wait_for_trials + 4s;

TEST(LateTrial, IsWaitedForOnceInAProcess) {
  SimulatedJob job(Variables{{"WEFT_FILL", hanging_job()}, {"SIMGPU_DEVICES", "3"}, {"WEFT_LOG", "error"}});
  for (const int device : {1, 2}) {
    CUcontext context = nullptr;
    job.function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, device);
  }
  const auto began = std::chrono::steady_clock::now();
  job.open();
  for (const int device : {1, 2}) job.core.communicator_opened({static_cast<CommunicatorId>(device + 1), device, 0, 3});
  job.core.communicator_opened({4, 0, 0, 3});
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, longest_wait_for_trials - 1s);
  EXPECT_LT(waited, one_wait);
  for (const CommunicatorId communicator : {2U, 3U, 4U}) job.core.communicator_closing(communicator);
  job.close();
}

TEST(LateTrial, IsNamedInTheSummaryWhereItIsNotOverAtTheEnd) {
  SimulatedJob job(Variables{{"WEFT_FILL", hanging_job()}});
  const std::string said = job.open();
  EXPECT_NE(said.find("is not over yet: nothing is filled before it is\n"), std::string::npos) << said;
  train(job, 18);
  job.close();
  const auto trace = job.trace();
  const auto summary = record_of(trace, "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  EXPECT_EQ(summary.value("reason", ""), "the trial of the fill job was not over before the training was") << summary;
  EXPECT_FALSE(job.turned_off);
}

TEST(LateTrial, IsUsedAtAQuietMoment) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,sleep7")}, {"WEFT_LOG", "error"}});
  job.open();
  EXPECT_TRUE(job.quiet_moments_wanted);
  train(job, 12);
  job.begin_group();
  EXPECT_FALSE(testing::no_quiet_moment_is_wanted(job, 4s)) << "next to a group";
  job.end_group();
  job.wait_for_gpu();
  EXPECT_EQ(SimulatedJob::times_reserved, 0);
  EXPECT_EQ(SimulatedJob::times_given_back, 1U) << "the memory of the trial, which has ended";
  EXPECT_TRUE(testing::no_quiet_moment_is_wanted(job, 60s));
  EXPECT_EQ(SimulatedJob::times_reserved, 1) << "what was allowed to be taken before does not count any more";
  train(job, 60);
  job.close();
  const auto trace = job.trace();
  const auto summary = record_of(trace, "summary");
  EXPECT_GT(summary.value("slices", 0), 20) << summary;
  EXPECT_EQ(summary.value("fill_units_wrong", -1), 0) << summary;
  EXPECT_EQ(summary.value("filling_stopped", true), false) << summary;
  EXPECT_EQ(count_of(job.log("weft-dispatch"), "hazard"), 0U);
}

TEST(LateTrial, IsUsedWhenACommunicatorIsOpened) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,sleep7")}, {"WEFT_LOG", "error"}});
  job.open();
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  for (CommunicatorId communicator = 2; job.quiet_moments_wanted && std::chrono::steady_clock::now() < deadline;
       ++communicator) {
    job.core.communicator_opened({communicator, 0, 0, 2});
    job.core.communicator_closing(communicator);
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_FALSE(job.quiet_moments_wanted);
  train(job, 60);
  job.close();
  EXPECT_GT(record_of(job.trace(), "summary").value("slices", 0), 20);
}

// The trial holds a context and WEFT_MEMORY on the GPU of the training.
TEST(LateTrial, GivesItsMemoryToTheTraining) {
  SimulatedJob job(Variables{{"WEFT_FILL", hanging_job()}});
  job.open();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), 0) << "the trial still runs";
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(job.core.rescue_memory(0));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "and is gone before the allocation is tried again";
  EXPECT_FALSE(job.core.rescue_memory(0)) << "there is nothing more to give";
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "memory of the GPU ran short during the trial of the fill job; observing only\n"),
            std::string::npos);
  EXPECT_FALSE(job.quiet_moments_wanted);
  train(job, 18);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("reason", ""),
            "memory of the GPU ran short during the trial of the fill job");
}

// Also while the thread that sets the device up still waits for it. Before the trial has begun there is nothing to
// give, and next to a rescue none begins. On a busy machine the trial may end after the rescue has given up (the memory
// is there at the next try), or after that thread has gone on.
TEST(LateTrial, GivesItsMemoryToAnotherThread) {
  SimulatedJob job(Variables{{"WEFT_FILL", hanging_job()}});
  std::atomic<bool> rescued = false;
  std::thread other([&] {
    const auto trial_runs = [&] { return job.is_started && ::waitpid(-1, nullptr, WNOHANG | __WALL) == 0; };
    while (!trial_runs()) std::this_thread::sleep_for(10ms);
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!rescued && std::chrono::steady_clock::now() < deadline) {
      rescued = job.core.rescue_memory(0);
      std::this_thread::sleep_for(10ms);
    }
  });
  std::string said = job.open();
  ::testing::internal::CaptureStderr();
  other.join();
  said += ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(rescued);
  EXPECT_NE(said.find("ran short during the trial of the fill job; observing only\n"), std::string::npos) << said;
  job.close();
}

TEST(LateTrial, ThatTookItsTimeFindsTheStreamsOfTheTrainingAsTheyAre) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,sleep2")}});
  std::thread other([&] {
    std::this_thread::sleep_for(1s);
    SimulatedJob::streams_in_use = 1000;
  });
  const std::string said = job.open();
  other.join();
  EXPECT_NE(said.find("1000 streams"), std::string::npos) << said;
  EXPECT_NE(said.find("; observing only\n"), std::string::npos) << said;
  job.close();
  SimulatedJob::streams_in_use = 0;
}

TEST(LateTrial, OfAJobThatTakesLongToMakeReadyHoldsNobodyUp) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096,sleep11")}, {"WEFT_LOG", "error"}});
  job.open();
  EXPECT_FALSE(testing::no_quiet_moment_is_wanted(job, 15s));
  job.close();
  EXPECT_EQ(
      record_of(job.trace(), "summary").value("reason", ""),
      "the trial of the fill job was over too late, and to make it ready would have held the training up for 11 s");
}

}  // namespace
}  // namespace weft
