// The core on the simulated driver, observing: traces, marker words, several devices and communicators; held against
// the simulator's own log.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runner/options/answers.h"
#include "tests/runner/core/simulated_job.h"

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

// Streams are marked by writes where the machine has answered that they hold nobody up. The dispatcher or a hook may
// look at the words at any time, also while the main job resets its device or exits.
TEST(CoreOnSimulator, MarkerWordsOutliveTheContext) {
  Answers answers;
  answers.machine = {"Simulated GPU (not hardware)", 13000, 1, false};
  answers[Asked::write] = Found::passes;
  const std::string folder = ::testing::TempDir() + "weft_writes_pass_" + std::to_string(::getpid());
  ASSERT_EQ(keep_answers(folder, answers), "");
  SimulatedJob job(Variables{{"WEFT", "observe"}, {"WEFT_ANSWERS", folder}});
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
