// A main job that closes its last communicator and opens another one, again and again, as a training with evaluations
// or elastic restarts does: nothing of Weft may pile up in its process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "cli/replayed_file.h"
#include "runner/clock.h"
#include "runner/core/preparations.h"
#include "tests/runner/core/simulated_job.h"
#include "tests/runner/open_descriptors.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::copy_job;
using testing::count_of;
using testing::open_descriptors;
using testing::SimulatedJob;
using testing::train;
using testing::Variables;

// Once the trace that was closed last is. Its thread does that on its own, and nobody waits for it.
std::vector<std::string> open_descriptors_at_rest() {
  const std::string output = ::getenv("WEFT_OUTPUT");
  const auto is_of_trace = [&](const std::string& name) { return name.starts_with(output); };
  const TimePoint began = now();
  std::vector<std::string> open = open_descriptors();
  while (std::ranges::any_of(open, is_of_trace) && now() - began < 5s) {
    std::this_thread::sleep_for(1ms);
    open = open_descriptors();
  }
  return open;
}

std::int64_t resident_bytes() {
  std::int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

void open_and_close(SimulatedJob& job, CommunicatorId first, CommunicatorId last) {
  for (CommunicatorId communicator = first; communicator <= last; ++communicator) {
    job.core.communicator_opened({communicator, 0, 0, 2});
    job.core.communicator_closing(communicator);
  }
}

// Sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

// A detector, a ring of records and a dispatcher take more than two megabytes.
constexpr std::int64_t most_growth = 40 * (256 << 10);

void expect_that_nothing_piles_up(const Variables& variables) {
  SimulatedJob job(variables);
  job.open();
  job.close();
  open_and_close(job, 2, 20);
  const std::vector<std::string> descriptors = open_descriptors_at_rest();
  const std::int64_t resident = resident_bytes();
  open_and_close(job, 21, 60);
  EXPECT_EQ(open_descriptors_at_rest(), descriptors);
  if (!is_sanitized) {
    EXPECT_LT(resident_bytes() - resident, most_growth);
  }
  EXPECT_EQ(count_of(job.trace(), "summary"), 60U);
  EXPECT_FALSE(job.turned_off);
}

TEST(Reopening, LeavesNothingBehindWhileObserving) {
  expect_that_nothing_piles_up({{"WEFT", "observe"}, {"WEFT_SUMMARY", "off"}});
}

std::uintmax_t size_of(const std::string& path) {
  std::error_code none_yet;
  const std::uintmax_t size = std::filesystem::file_size(path, none_yet);
  return none_yet ? 0 : size;
}

// Until its limit is reached, and on and on.
TEST(Reopening, LeavesARecordingThatCanBeReplayed) {
  constexpr std::uintmax_t limit = 1 << 20;
  SimulatedJob job(Variables{{"WEFT", "observe"},
                             {"WEFT_SUMMARY", "off"},
                             {"WEFT_RECORD", "on"},
                             {"WEFT_RECORD_LIMIT", std::to_string(limit)}});
  job.open();
  train(job, 6);
  job.close();
  const std::string stem = std::string(::getenv("WEFT_OUTPUT")) + "/rank0." + std::to_string(::getpid());
  ::testing::internal::CaptureStderr();
  CommunicatorId last = 1;
  std::uintmax_t before = 0;
  for (int unchanged = 0; unchanged < 5 && last < 5000; ++last) {
    before = size_of(stem + ".weftrec");
    open_and_close(job, last + 1, last + 1);
    unchanged = size_of(stem + ".weftrec") == before ? unchanged + 1 : 0;
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(job.turned_off);
  EXPECT_GT(before, limit - 4096);
  EXPECT_LT(before, limit + 4096);
  EXPECT_NE(said.find("has reached WEFT_RECORD_LIMIT"), std::string::npos) << said;
  EXPECT_EQ(said.find("has reached WEFT_RECORD_LIMIT"), said.rfind("has reached WEFT_RECORD_LIMIT")) << said;
  const cli::ReplayedFile file = cli::replay_file(stem + ".weftrec", stem + ".again");
  EXPECT_EQ(file.damage, "");
  EXPECT_EQ(file.differences(), 0U);
  ASSERT_GT(file.sessions.size(), 10U);
  EXPECT_LT(file.sessions.size() + 3, last) << "those beyond the limit";
  EXPECT_GT(file.sessions.front().result.events, 20U);
  for (std::size_t i = 0; i + 1 < file.sessions.size(); ++i) EXPECT_EQ(file.sessions[i].cut, "") << i;
}

TEST(Reopening, LeavesNothingBehindWhileFilling) {
  expect_that_nothing_piles_up(
      {{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_SUMMARY", "off"}, {"WEFT_SLOWDOWN_BUDGET", "off"}});
}

// Each time holds the training up.
TEST(Reopening, MakesAFillJobReadyAFewTimesAndThenRarely) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_SUMMARY", "off"}});
  std::string said = job.open();
  ::testing::internal::CaptureStderr();
  job.core.communicator_closing(1);
  open_and_close(job, 2, 10);
  said += ::testing::internal::GetCapturedStderr();
  const std::string text = "makes its communicators anew so often";
  EXPECT_NE(said.find(text), std::string::npos) << said;
  EXPECT_EQ(said.find(text), said.rfind(text)) << "more than once: " << said;
  EXPECT_EQ(count_of(job.trace(), "memory"), 2U * Preparations::free_ones);
  EXPECT_EQ(count_of(job.trace(), "summary"), 10U);
}

TEST(Reopening, TriesAFillJobOnce) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")}, {"SIMGPU_DEVICES", "2"}, {"WEFT_SUMMARY", "off"}});
  CUcontext second = nullptr;
  ASSERT_EQ(job.function<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&second, 1), CUDA_SUCCESS);
  job.open();
  job.close();
  EXPECT_EQ(job.processes(), 2U);
  open_and_close(job, 2, 3);
  EXPECT_EQ(job.processes(), 2U);
  EXPECT_EQ(count_of(job.trace(), "memory"), 6U) << "it was made ready each time";
  job.core.communicator_opened({4, 1, 0, 2});
  job.core.communicator_closing(4);
  EXPECT_EQ(job.processes(), 2U) << "both devices are of one model";
}

// The driver refuses an event of the first one on streams of the second, and has freed it once the first is destroyed.
TEST(Reopening, InAnotherContextOfTheDevice) {
  SimulatedJob job(Variables{{"WEFT", "observe"}, {"WEFT_SUMMARY", "off"}});
  job.open();
  ASSERT_NE(job.words().events, nullptr);
  job.close();
  EXPECT_EQ(job.words().host, nullptr) << "nobody looks at markers any more";
  CUcontext other = nullptr;
  ASSERT_EQ(job.function<decltype(&::cuCtxCreate_v2)>("cuCtxCreate_v2")(&other, 0, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(job.function<decltype(&::cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const auto record = job.function<decltype(&::cuEventRecord)>("cuEventRecord");
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_EQ(record(static_cast<CUevent>(job.words().events[0].event), stream), CUDA_SUCCESS);
  job.core.communicator_closing(2);
  job.use_context();
  job.core.communicator_opened({3, 0, 0, 2});
  EXPECT_NE(record(static_cast<CUevent>(job.words().events[0].event), stream), CUDA_SUCCESS)
      << "of the first one again";
  job.core.communicator_closing(3);
  EXPECT_FALSE(job.turned_off);
}

// The device goes with all that the fill job has there; what is left of Weft may not touch it.
TEST(Reopening, AfterAResetOfTheDevice) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_SUMMARY", "off"}});
  job.open();
  for (CommunicatorId communicator = 2; communicator <= 4; ++communicator) {
    job.core.context_closing(0);
    job.reset_device();
    job.core.communicator_opened({communicator, 0, 0, 2});
  }
  job.core.communicator_closing(4);
  EXPECT_EQ(count_of(job.trace(), "summary"), 4U);
  EXPECT_FALSE(job.turned_off);
}

}  // namespace
}  // namespace weft
