// A trial that takes longer than a training may wait for it: the training goes on after some seconds, once, and its
// summary says what became of the fill job.
#include <gtest/gtest.h>

#include <chrono>

#include "runner/core/trials.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
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

}  // namespace
}  // namespace weft
