// The core on the simulated driver, a core or a dispatcher that has failed: nothing stays reserved; held against the
// simulator's own log.
#include <gtest/gtest.h>

#include "tests/runner/core/failing_launch.h"
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
using testing::failing_graph_launch;
using testing::launches_left;
using testing::real_graph_launch;
using testing::rescued_soon;
using testing::SimulatedJob;
using testing::Variables;

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

}  // namespace
}  // namespace weft
