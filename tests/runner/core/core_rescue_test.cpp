// The core on the simulated driver, the rescue: memory of the fill job given back to the training; held against the
// simulator's own log.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "runner/core/rescue.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::rescued_soon;
using testing::SimulatedJob;
using testing::Variables;

std::atomic<int> host_blocks_freed{0};
decltype(&::cuMemFreeHost) real_free_host = nullptr;
CUresult counting_free_host(void* address) {
  ++host_blocks_freed;
  return real_free_host(address);
}

TEST(CoreOnSimulator, ARescueLeavesTheJobItsPinnedMemoryUntilItIsDestroyed) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  real_free_host = job.function<decltype(&::cuMemFreeHost)>("cuMemFreeHost");
  SimulatedJob::replaced["cuMemFreeHost"] = reinterpret_cast<void*>(&counting_free_host);
  job.open();
  train(job, 6);
  EXPECT_TRUE(job.core.rescue_memory(0));
  EXPECT_EQ(host_blocks_freed, 0);
  job.close();
  EXPECT_GE(host_blocks_freed, 2);  // input and output of the job
}

// NCCL connects to a peer, and allocates, inside the call that is to launch the group.
TEST(CoreOnSimulator, ARescueDoesNotWaitForAGroupThatIsYetToBeLaunched) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  train(job, 6);
  job.announce_group();
  job.announce_group();
  EXPECT_TRUE(job.core.rescue_memory(0));
  EXPECT_EQ(free_memory(job), before);
  for (int group = 0; group < 2; ++group) {
    job.launch_announced_group();
    job.end_group();
  }
  train(job, 6);
  job.close();
}

// A receive that was posted early, whose peer waits for what this thread is about to send.
TEST(CoreOnSimulator, ARescueDoesNotWaitForAReceiveThatNeedsThisThreadWhereTheDriverDoesNot) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}, {"SIMGPU_HAZARDS", "log"}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();
  job.begin_unseen_group();
  EXPECT_TRUE(job.core.rescue_memory(0));
  EXPECT_EQ(free_memory(job), before);
  for (int group = 0; group < 2; ++group) job.end_group();
  job.wait_for_gpu();
  job.close();
}

// Of the `before` bytes that were free: 36 MiB, those of the training, as soon as the reservation is given back. The
// training goes on to allocate meanwhile.
std::size_t taken_when_given_back(SimulatedJob& job, std::size_t before) {
  for (int turn = 0; turn < 1000 && before - free_memory(job) > 36U << 20; ++turn) {
    job.core.memory_taken(0);
    std::this_thread::sleep_for(10ms);
  }
  return before - free_memory(job);
}

// The device has 128 MiB, of which the training takes more and more.
TEST(CoreOnSimulator, GivesItsMemoryBackBeforeAnAllocationFails) {
  SimulatedJob job(
      Variables{{"WEFT_FILL", copy_job("12,4096")}, {"SIMGPU_MEMORY", "128MiB"}, {"WEFT_HEADROOM", "32MiB"}});
  const std::size_t before = free_memory(job);
  job.open();
  EXPECT_EQ(before - free_memory(job), 64U << 20);
  CUdeviceptr memory = 0;
  const auto allocate = job.function<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2");
  EXPECT_EQ(job.core.memory_taken(0), free_memory(job) - (32U << 20) + 1);
  ASSERT_EQ(allocate(&memory, 28U << 20), CUDA_SUCCESS);
  EXPECT_GT(job.core.memory_taken(0), 0U);
  EXPECT_EQ(before - free_memory(job), 92U << 20);
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(allocate(&memory, 8U << 20), CUDA_SUCCESS);
  EXPECT_EQ(taken_when_given_back(job, before), 36U << 20);
  train(job, 6);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "weft: warning: rank 0: fill job copy rests: less device memory was left to the training than the 32 MiB of "
      "WEFT_HEADROOM; it goes on when there is more, after 2 s at the earliest\n");
  job.close();
}

// No allocation has failed: freeing next to a receive, which a driver may make wait, is not worth it yet.
TEST(CoreOnSimulator, TheHeadRoomWaitsForPendingGroups) {
  SimulatedJob job(
      Variables{{"WEFT_FILL", copy_job("12,4096")}, {"SIMGPU_MEMORY", "128MiB"}, {"WEFT_HEADROOM", "32MiB"}});
  const std::size_t before = free_memory(job);
  job.open();
  CUdeviceptr memory = 0;
  const auto allocate = job.function<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2");
  ASSERT_EQ(allocate(&memory, 36U << 20), CUDA_SUCCESS);
  job.begin_group();
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_GT(job.core.memory_taken(0), 0U);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(before - free_memory(job), 100U << 20) << "freed next to a group";
  job.end_group();
  EXPECT_EQ(taken_when_given_back(job, before), 36U << 20);
  job.close();
}

// Unlike a plain allocation, mapped memory does not go with its context.
TEST(CoreOnSimulator, TheReservationGoesWithTheContext) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 6);
  const std::size_t during = free_memory(job);
  job.core.context_closing(0);
  EXPECT_EQ(free_memory(job) - during, 64U << 20);
  job.reset_device();
}

TEST(CoreOnSimulator, ARescueWaitsForAGroupThatIsAboutToEnd) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();
  std::atomic<bool> ending{false};
  std::thread peer([&] {
    std::this_thread::sleep_for(100ms);
    ending = true;
    job.end_group();
  });
  EXPECT_TRUE(job.core.rescue_memory(0));
  EXPECT_TRUE(ending) << "it did not wait";
  peer.join();
  EXPECT_EQ(free_memory(job), before);
  job.close();
}

// Near the end of its memory a training fails to allocate again and again, also next to a receive.
TEST(CoreOnSimulator, AfterARescueInVainNoLaterOneWaits) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(job.core.rescue_memory(0));
  // The machine may be busy or asleep, but each that waits takes rescue_limit at least.
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int turn = 0; turn < 5; ++turn) {
    const auto started = std::chrono::steady_clock::now();
    EXPECT_FALSE(job.core.rescue_memory(0));
    shortest = std::min(shortest, std::chrono::steady_clock::now() - started);
  }
  EXPECT_LT(shortest, rescue_limit / 2);
  job.end_group();
  job.wait_for_gpu();
  train(job, 60);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const std::string line :
       {"weft: warning: an allocation of the training failed while Weft held 64 MiB of device memory, which could not "
        "be given "
        "back in time: the driver waits for work that has not ended; set a smaller WEFT_MEMORY\n",
        "weft: warning: rank 0: filling is off for the rest of this run: the training needed the memory of the "
        "reservation "
        "(WEFT_MEMORY)\n"})
    EXPECT_TRUE(said.find(line) != std::string::npos && said.find(line) == said.rfind(line)) << said;
  EXPECT_TRUE(rescued_soon(job)) << "next to no group";
  EXPECT_EQ(free_memory(job), before);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("slices", -1), 0);
}

// The hook tries an allocation again when the rescue says so, and when memory was given back since the call.
TEST(CoreOnSimulator, TwoThreadsThatRunOutOfMemoryAtTheSameTimeBothTryAgain) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  EXPECT_EQ(SimulatedJob::times_reserved, 1);
  const std::uint32_t of_the_trial = SimulatedJob::times_given_back;
  job.begin_group();  // so that the first one is still at it when the second one comes
  std::array<bool, 2> again{};
  std::array<std::thread, 2> threads;
  for (std::size_t index = 0; index < threads.size(); ++index)
    threads[index] = std::thread([&, index] {
      const std::uint32_t before = SimulatedJob::times_given_back;
      again[index] = job.core.rescue_memory(0) || SimulatedJob::times_given_back != before;
    });
  std::this_thread::sleep_for(100ms);
  job.end_group();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(again[0]);
  EXPECT_TRUE(again[1]);
  EXPECT_EQ(SimulatedJob::times_given_back, of_the_trial + 1);
  job.close();
}

TEST(CoreOnSimulator, AnAllocationThatFailsWhileTheLastCommunicatorIsClosedIsTriedAgain) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();  // so that closing takes its time
  bool again = false;
  std::thread closing([&] { job.core.communicator_closing(1); });
  std::thread allocating([&] {
    std::this_thread::sleep_for(20ms);
    const std::uint32_t given_back = SimulatedJob::times_given_back;
    again = job.core.rescue_memory(0) || SimulatedJob::times_given_back != given_back;
  });
  std::this_thread::sleep_for(50ms);
  job.end_group();
  closing.join();
  allocating.join();
  EXPECT_TRUE(again);
  EXPECT_EQ(free_memory(job), before);
  job.close();
}

TEST(CoreOnSimulator, GivesItsMemoryBackWhenItIsNeeded) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  const std::size_t before = free_memory(job);
  job.open();
  EXPECT_EQ(before - free_memory(job), 64U << 20);
  train(job);
  job.begin_group();
  EXPECT_FALSE(job.core.rescue_memory(0)) << "next to a receive that spins";
  job.end_group();
  EXPECT_TRUE(rescued_soon(job));
  EXPECT_EQ(free_memory(job), before);
  EXPECT_FALSE(job.core.rescue_memory(0)) << "there is nothing more to give";
  train(job);
  job.close();
  const auto summary = record_of(job.trace(), "summary");
  EXPECT_EQ(summary.value("filling_stopped", false), true) << summary;
  EXPECT_EQ(count_of(job.trace(), "memory"), 3U);
}

}  // namespace
}  // namespace weft
