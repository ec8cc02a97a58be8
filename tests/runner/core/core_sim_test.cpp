// The core on the simulated driver: what a training process is promised, held against the simulator's own log.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runner/core/device.h"
#include "runner/fill/checkpoint.h"
#include "runner/policy/budget.h"
#include "tests/runner/core/simulated_job.h"

static thread_local bool thread_without_memory = false;

// The core brings its own operator new along, but not malloc.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {
  return thread_without_memory ? nullptr : __libc_malloc(bytes);
}
#endif

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

TEST(CoreOnSimulator, Observes) {
  SimulatedJob job(Variables{{"WEFT", "observe"}});
  const std::string hello = job.open();
  EXPECT_EQ(std::count(hello.begin(), hello.end(), '\n'), 1) << hello;
  train(job);
  const std::string end = job.close();
  EXPECT_TRUE(end.starts_with("weft: rank 0")) << end;
  EXPECT_LE(std::count(end.begin(), end.end(), '\n'), 12) << end;
  const auto trace = job.trace();
  ASSERT_FALSE(trace.empty());
  EXPECT_GE(count_of(trace, "bubble"), 30U);
  EXPECT_GE(count_of(trace, "iteration"), 6U);
  EXPECT_EQ(count_of(trace, "communicator"), 2U);
  EXPECT_EQ(count_of(trace, "summary"), 1U);
  EXPECT_TRUE(job.log("weft-dispatch").empty());
  EXPECT_FALSE(job.turned_off);
}

// One thread per GPU, all of which make their first communicator at the same time; a fill job is not made for that.
TEST(CoreOnSimulator, DevicesThatAreOpenedAtTheSameTimeArePreparedOneAfterTheOther) {
  SimulatedJob job(Variables{{"SIMGPU_DEVICES", "3"}, {"WEFT_FILL", copy_job("2,4096,alone")}});
  job.open();
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (const int device : {1, 2}) {
    threads.emplace_back([&job, device] {
      CUcontext context = nullptr;
      job.function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, device);
      job.function<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")(context);
      job.core.communicator_opened({static_cast<CommunicatorId>(device + 1), device, 0, 3});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("another thread is inside"), std::string::npos) << said;
  EXPECT_EQ(said.find("observing only"), std::string::npos) << said;
  for (const CommunicatorId communicator : {2U, 3U}) job.core.communicator_closing(communicator);
  job.close();
  EXPECT_FALSE(job.turned_off);
}

// The dispatcher or a hook may look at the words at any time, also while the main job resets its device or exits.
TEST(CoreOnSimulator, MarkerWordsOutliveTheContext) {
  SimulatedJob job(Variables{{"WEFT", "observe"}});
  job.open();
  train(job, 3);
  const MarkerWords words = SimulatedJob::words();
  ASSERT_NE(words.host, nullptr);
  const std::uint32_t written = words.host[1].load();
  EXPECT_EQ(written, 1U);
  job.core.context_closing(0);
  EXPECT_EQ(SimulatedJob::words().host, nullptr);  // taken back from the shim
  job.reset_device();
  EXPECT_EQ(words.host[1].load(), written);
  // The main job begins anew: the same words, for another context.
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_EQ(SimulatedJob::words().host, words.host);
  EXPECT_TRUE(job.is_registered(words.host));
  job.core.communicator_closing(2);
  EXPECT_FALSE(job.turned_off);
}

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

TEST(CoreOnSimulator, FillsWithoutBeingNoticed) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  const std::string hello = job.open();
  EXPECT_EQ(std::count(hello.begin(), hello.end(), '\n'), 1) << hello;
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

TEST(CoreOnSimulator, SomeIterationsGoWithoutFillToCompareWith) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  train(job, 165);  // 55 iterations
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

int launches_left = 0;
decltype(&::cuGraphLaunch) real_graph_launch = nullptr;
CUresult failing_graph_launch(CUgraphExec graph, CUstream stream) {
  return launches_left-- > 0 ? real_graph_launch(graph, stream) : CUDA_ERROR_ILLEGAL_ADDRESS;
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

// For a rescue that no longer waits: the group has ended, the markers behind it have yet to be seen.
bool rescued_soon(SimulatedJob& job) {
  for (int turn = 0; turn < 1000; ++turn) {
    if (job.core.rescue_memory(0)) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

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
  for (int turn = 0; turn < 1000 && before - free_memory(job) > 36U << 20; ++turn) {
    job.core.memory_taken(0);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(before - free_memory(job), 36U << 20);
  train(job, 6);
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "weft: warning: rank 0: filling is off for the rest of this run: less device memory was left to the main job than the "
      "32 MiB of WEFT_HEADROOM\n");
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
       {"weft: warning: an allocation of the training failed while Weft held 64 MiB of device memory, which could not be given "
        "back within 1 s: the driver waits for work that has not ended; set a smaller WEFT_MEMORY\n",
        "weft: warning: rank 0: filling is off for the rest of this run: the main job needed the memory of the reservation "
        "(WEFT_MEMORY)\n"})
    EXPECT_TRUE(said.find(line) != std::string::npos && said.find(line) == said.rfind(line)) << said;
  EXPECT_TRUE(rescued_soon(job)) << "next to no group";
  EXPECT_EQ(free_memory(job), before);
  job.close();
  EXPECT_EQ(record_of(job.trace(), "summary").value("slices", -1), 0);
}

TEST(CoreOnSimulator, TwoThreadsThatRunOutOfMemoryAtTheSameTimeBothTryAgain) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  job.begin_group();  // so that the first one is still at it when the second one comes
  std::array<bool, 2> rescued{};
  std::array<std::thread, 2> threads;
  for (std::size_t index = 0; index < threads.size(); ++index)
    threads[index] = std::thread([&, index] { rescued[index] = job.core.rescue_memory(0); });
  std::this_thread::sleep_for(100ms);
  job.end_group();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(rescued[0]);
  EXPECT_TRUE(rescued[1]);
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

// A second device cannot be used: Weft turns itself off, which nobody can make the first one give its memory back
// after.
TEST(CoreOnSimulator, AFailedCoreGivesBackWhatItHolds) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "off"}, {"SIMGPU_DEVICES", "2"}});
  const std::size_t before = free_memory(job);
  job.open();
  job.core.communicator_opened({2, 1, 0, 2});  // nobody has made a context there
  EXPECT_TRUE(job.turned_off);
  EXPECT_EQ(free_memory(job), before);
  job.close();  // its thread may not outlive the job that this test plays
}

TEST(CoreOnSimulator, AFailedCoreStaysOnUntilItHasGivenBackWhatItHolds) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"SIMGPU_DEVICES", "2"}});
  const std::size_t before = free_memory(job);
  job.open();
  job.begin_group();
  ::testing::internal::CaptureStderr();
  for (const CommunicatorId communicator : {2U, 3U}) job.core.communicator_opened({communicator, 1, 0, 2});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: error: Weft is off in this process: device 1 has no context\n"
            "weft: warning: rank 0: filling is off for the rest of this run: Weft has failed\n");
  EXPECT_FALSE(job.turned_off);
  EXPECT_EQ(before - free_memory(job), 64U << 20);
  job.end_group();
  job.close();
  EXPECT_TRUE(job.turned_off);
  EXPECT_EQ(free_memory(job), before);
}

// No memory is left for the message of an error.
CUresult last_error_name(CUresult, const char** name) {
  thread_without_memory = true;
  *name = "an error";
  return CUDA_SUCCESS;
}

TEST(CoreOnSimulator, AFailedDispatcherLosesNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has a malloc of its own";
#endif
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  real_graph_launch = job.function<decltype(&::cuGraphLaunch)>("cuGraphLaunch");
  launches_left = 1 << 30;
  SimulatedJob::replaced["cuGraphLaunch"] = reinterpret_cast<void*>(&failing_graph_launch);
  SimulatedJob::replaced["cuGetErrorName"] = reinterpret_cast<void*>(&last_error_name);
  const std::size_t before = free_memory(job);
  job.open();
  launches_left = 5;
  ::testing::internal::CaptureStderr();
  train(job, 60);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "weft: error: rank 0: the dispatcher failed, Weft is off in this process\n");
  EXPECT_TRUE(rescued_soon(job));
  EXPECT_TRUE(job.turned_off);
  EXPECT_EQ(free_memory(job), before);
}

// What the copy job's progress says: units done in all runs.
std::uint64_t units_kept(const std::string& directory) {
  const auto progress = read_progress(progress_path(directory, 0, std::nullopt), "copy");
  std::uint64_t units = 0;
  EXPECT_TRUE(progress && progress->size() == sizeof units);
  if (progress) std::memcpy(&units, progress->data(), sizeof units);
  return units;
}

std::uint64_t units_done(const SimulatedJob& job) {
  std::uint64_t units = 0;
  for (const auto& record : job.trace())
    if (record.value("type", "") == "summary") units += record.value("fill_units", 0U);
  return units;
}

TEST(CoreOnSimulator, ProgressGoesFromOneRunToTheNext) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}, {"WEFT_LOG", "error"}});
  job.open();
  train(job);
  job.close();
  const std::uint64_t first = units_kept(directory);
  EXPECT_GT(first, 0U);
  EXPECT_EQ(first, units_done(job));
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_TRUE(job.core.rescue_memory(0)) << "progress is kept although the memory is gone";
  job.core.communicator_closing(2);
  EXPECT_EQ(units_kept(directory), first);
  EXPECT_EQ(units_done(job), first);
  std::filesystem::remove_all(directory);
}

TEST(CoreOnSimulator, AJobWithNothingToKeepIsAskedOnce) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096,unsaved")}, {"WEFT_CHECKPOINT", directory}});
  job.open();
  EXPECT_TRUE(job.core.rescue_memory(0));
  job.close();
  EXPECT_FALSE(std::filesystem::exists(progress_path(directory, 0, std::nullopt)));
  std::filesystem::remove_all(directory);
}

TEST(CoreOnSimulator, ProgressOfAnotherJobIsNotTouched) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  const std::string path = progress_path(directory, 0, std::nullopt);
  ASSERT_EQ(write_progress(path, "another", Progress(3), 10s), "");
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}});
  const std::string said = job.open();
  EXPECT_NE(said.find("not that of fill job copy; observing only\n"), std::string::npos) << said;
  job.close();
  EXPECT_EQ(read_progress(path, "another"), Progress(3));
  std::filesystem::remove_all(directory);
}

// Without a launcher many processes may be rank 0.
TEST(CoreOnSimulator, ProgressThatAnotherProcessKeepsIsNotTouchedAndFillingGoesOn) {
  const std::string directory = ::testing::TempDir() + "weft_progress_" + std::to_string(::getpid());
  const std::string path = progress_path(directory, 0, std::nullopt);
  ASSERT_EQ(write_progress(path, "copy", Progress(3), 10s), "");
  const ProgressClaim other(path);
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}, {"WEFT_CHECKPOINT", directory}});
  const std::string said = job.open();
  EXPECT_NE(said.find("rank 0: the progress of the fill job begins anew and is not kept: another process"),
            std::string::npos)
      << said;
  train(job);
  job.close();
  EXPECT_GT(units_done(job), 0U);
  EXPECT_EQ(read_progress(path, "copy"), Progress(3));
  std::filesystem::remove_all(directory);
}

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

// Preparing a device allocates, and a driver may make it wait.
TEST(CoreOnSimulator, AContextThatGoesDoesNotWaitForAThreadThatIsStuckInTheDriver) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}, {"WEFT_LOG", "error"}});
  job.open();
  job.close();
  job.begin_unseen_group();
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
  job.end_group();
  opening.join();
  EXPECT_TRUE(job.turned_off);
  job.core.communicator_closing(2);  // its thread may not outlive the job that this test plays
}

TEST(CoreOnSimulator, ACommunicatorMayComeBack) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("4,4096")}});
  job.open();
  job.close();
  job.core.communicator_opened({2, 0, 0, 2});
  train(job, 6);
  job.core.communicator_closing(2);
  EXPECT_EQ(count_of(job.trace(), "summary"), 2U);
}

TEST(CoreOnSimulator, TwoDevicesOfAProcessHaveATraceEach) {
  SimulatedJob job(Variables{{"WEFT", "observe"}, {"SIMGPU_DEVICES", "2"}});
  CUcontext second = nullptr;
  ASSERT_EQ(job.function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&second, 1), CUDA_SUCCESS);
  job.open();
  job.core.communicator_opened({2, 1, 0, 2});
  job.core.communicator_closing(2);
  job.close();
  for (const auto& [name, device] : {std::pair{"", 0}, {".device1", 1}}) {
    const auto trace = job.trace(name);
    EXPECT_EQ(count_of(trace, "header"), 1U) << device;
    EXPECT_EQ(record_of(trace, "header").value("device", -1), device);
    EXPECT_EQ(count_of(trace, "summary"), 1U) << device;
  }
}

TEST(CoreOnSimulator, NoCallAfterTheContextHasGone) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("12,4096")}});
  job.open();
  train(job);
  job.core.context_closing(0);
  ASSERT_EQ(job.function<decltype(&::cuDevicePrimaryCtxReset_v2)>("cuDevicePrimaryCtxReset_v2")(0), CUDA_SUCCESS);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(count_of(job.trace(), "summary"), 1U);
}

}  // namespace
}  // namespace weft
