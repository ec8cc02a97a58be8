// The core on the simulated driver, closing next to work that does not end; held against the simulator's own log.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::rescued_soon;
using testing::SimulatedJob;
using testing::Variables;

TEST(CoreOnSimulator, MemoryIsGivenBackAtTheEnd) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  const std::size_t before = free_memory(job);
  job.open();
  train(job, 6);
  job.close();
  EXPECT_EQ(free_memory(job), before);
}

// A receive in a replayed graph, and ncclCommAbort() to end it: freeing memory would wait for the receive, and the
// abort comes only after the hook.
TEST(CoreOnSimulator, ClosingDoesNotWaitForWorkThatNobodyHasSeen) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 6);
  job.begin_unseen_group();
  std::atomic<bool> closed{false}, ended_first{false};
  std::thread abort([&] {
    for (int turn = 0; turn < 2000 && !closed; ++turn) std::this_thread::sleep_for(10ms);
    ended_first = !closed;
    job.end_group();
  });
  job.close();
  closed = true;
  abort.join();
  EXPECT_FALSE(ended_first) << "closing waited for the receive";
  EXPECT_EQ(count_of(job.trace(), "summary"), 1U);
}

// A communicator that was made and aborted next to the training's, as DeepEP does it.
TEST(CoreOnSimulator, FillingGoesOnWhenOneOfTwoCommunicatorsGoes) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  job.core.communicator_opened({2, 0, 0, 2});
  train(job);
  job.core.communicator_closing(2);
  train(job);
  job.close();
  const auto records = job.trace();
  TimePoint closed{};
  std::size_t later_slices = 0;
  for (const auto& record : records) {
    if (record["type"] == "communicator" && record["communicator"] == 2 && record["event"] == "closed")
      closed = TimePoint(Duration(record["time"].get<std::int64_t>()));
    if (record["type"] == "slice" && closed != TimePoint{}) ++later_slices;
  }
  EXPECT_NE(closed, TimePoint{});
  EXPECT_GT(later_slices, 0U);
  EXPECT_EQ(count_of(records, "summary"), 1U);
  EXPECT_EQ(count_of(records, "anomaly"), 0U);
}

// ncclCommAbort() next to a receive that hangs, and a new communicator: each time the hook comes before the abort.
TEST(CoreOnSimulator, WhatClosingNextToAReceiveLeavesIsFreedAtTheNextOpening) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  for (CommunicatorId communicator = 1; communicator <= 3; ++communicator) {
    if (communicator != 1) job.core.communicator_opened({communicator, 0, 0, 2});
    EXPECT_EQ(before - free_memory(job), 64U << 20) << communicator;
    job.begin_group();
    job.core.communicator_closing(communicator);
    job.end_group();
    job.wait_for_gpu();
  }
  EXPECT_TRUE(job.core.rescue_memory(0)) << "without a communicator";
  EXPECT_EQ(free_memory(job), before);
  EXPECT_FALSE(job.core.rescue_memory(0)) << "there is nothing more to give";
}

TEST(CoreOnSimulator, NoSecondReservationNextToOneThatCannotBeFreedYet) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();
  job.close();
  ::testing::internal::CaptureStderr();
  job.core.communicator_opened({2, 0, 0, 2});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("an earlier reservation has not ended; observing only\n"), std::string::npos) << said;
  EXPECT_FALSE(job.core.rescue_memory(0)) << "next to a receive that spins";
  EXPECT_EQ(before - free_memory(job), 64U << 20);
  job.end_group();
  EXPECT_TRUE(rescued_soon(job));
  EXPECT_EQ(free_memory(job), before);
  job.core.communicator_closing(2);
  job.core.communicator_opened({3, 0, 0, 2});
  EXPECT_EQ(before - free_memory(job), 64U << 20);
  job.core.communicator_closing(3);
  EXPECT_EQ(free_memory(job), before);
}

// A driver that does not unmap next to work that only an abort ends: neither the rescue nor the abort waits for it.
TEST(CoreOnSimulator, ARescueAndClosingNextToWorkThatNobodyHasSeenAreBounded) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  train(job, 6);
  job.begin_unseen_group();
  std::atomic<bool> closed{false}, ended_first{false};
  std::thread abort([&] {
    for (int turn = 0; turn < 2000 && !closed; ++turn) std::this_thread::sleep_for(10ms);
    ended_first = !closed;
    job.end_group();
  });
  EXPECT_FALSE(job.core.rescue_memory(0));
  job.close();
  closed = true;
  abort.join();
  EXPECT_FALSE(ended_first) << "one of them waited for the group";
  EXPECT_TRUE(rescued_soon(job));
  EXPECT_EQ(free_memory(job), before);
}

int green_made = 0, green_destroyed = 0;
decltype(&::cuGreenCtxCreate) real_make_green = nullptr;
decltype(&::cuGreenCtxDestroy) real_destroy_green = nullptr;

CUresult make_green(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device, unsigned flags) {
  return ++green_made, real_make_green(context, description, device, flags);
}
CUresult destroy_green(CUgreenCtx context) {
  return ++green_destroyed, real_destroy_green(context);
}

// It would keep the training's context, with all memory there, beyond its release.
TEST(CoreOnSimulator, AGreenContextGoesBeforeTheContextThatItHolds) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,262144")},
                             {"WEFT_CONFINE", "green"},
                             {"WEFT_SLOWDOWN_BUDGET", "off"},
                             {"WEFT_LOG", "error"}});
  real_make_green = job.function<decltype(real_make_green)>("cuGreenCtxCreate");
  real_destroy_green = job.function<decltype(real_destroy_green)>("cuGreenCtxDestroy");
  SimulatedJob::replaced["cuGreenCtxCreate"] = reinterpret_cast<void*>(&make_green);
  SimulatedJob::replaced["cuGreenCtxDestroy"] = reinterpret_cast<void*>(&destroy_green);
  job.open();
  EXPECT_EQ(green_made, 1);
  train(job, 6);
  job.begin_group();
  std::this_thread::sleep_for(30ms);
  job.end_group();
  job.core.context_closing(0);
  EXPECT_EQ(green_destroyed, 1);
  job.reset_device();
}

std::atomic<bool> the_driver_stands{false};
decltype(&::cuMemGetInfo_v2) real_memory_info = nullptr;

CUresult standing_memory_info(std::size_t* free, std::size_t* total) {
  while (the_driver_stands) std::this_thread::sleep_for(1ms);
  return real_memory_info(free, total);
}

// Preparing a device asks the driver, which may make it wait.
TEST(CoreOnSimulator, AContextThatGoesDoesNotWaitForAThreadThatIsStuckInTheDriver) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  real_memory_info = job.function<decltype(&::cuMemGetInfo_v2)>("cuMemGetInfo_v2");
  SimulatedJob::replaced["cuMemGetInfo_v2"] = reinterpret_cast<void*>(&standing_memory_info);
  job.open();
  job.close();
  the_driver_stands = true;
  std::atomic<bool> opened{false};
  std::thread opening([&] {
    job.use_context();
    job.core.communicator_opened({2, 0, 0, 2});
    opened = true;
  });
  std::this_thread::sleep_for(2s);
  ASSERT_FALSE(opened);
  ::testing::internal::CaptureStderr();
  job.core.context_closing(0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: error: Weft is off in this process: another thread does not come back from the driver\n");
  EXPECT_FALSE(opened) << "it waited";
  the_driver_stands = false;
  opening.join();
  EXPECT_TRUE(job.turned_off);
  job.core.communicator_closing(2);  // its thread may not outlive the job that this test plays
}

}  // namespace
}  // namespace weft
