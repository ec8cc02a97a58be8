// Where no stream may write words. One hardware queue: events are recorded in their place, no stream of Weft's is made,
// and start line and trace name the queue. Blocking launches: nothing is enqueued, iterations are known from the groups
// as they are issued, and start line, end lines and trace say that idle time is unknown.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runner/options/answers.h"
#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

const std::string one_queue = "one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)";

int streams_made = 0;
decltype(&::cuStreamCreateWithPriority) real_create = nullptr;

CUresult count_stream(CUstream* stream, unsigned flags, int priority) {
  ++streams_made;
  return real_create(stream, flags, priority);
}

// The folder of kept answers, in which a host that waits holds up what is launched.
std::string answers_against_filling() {
  Answers answers;
  answers.machine = {"Simulated GPU (not hardware)", 13000, 1, false};
  answers[Asked::event] = Found::passes;
  answers[Asked::host_wait] = Found::holds;
  const std::string folder = ::testing::TempDir() + "weft_answers_against_" + std::to_string(::getpid());
  EXPECT_EQ(keep_answers(folder, answers), "");
  return folder;
}

TEST(OneHardwareQueue, IsMarkedByEventsAndGetsNoStreamWhereTheAnswersAreAgainstIt) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")},
                             {"WEFT_ANSWERS", answers_against_filling()},
                             {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  real_create = job.function<decltype(real_create)>("cuStreamCreateWithPriority");
  SimulatedJob::replaced["cuStreamCreateWithPriority"] = reinterpret_cast<void*>(&count_stream);
  const std::string said = job.open();
  EXPECT_NE(
      said.find("weft: warning: rank 0: " + one_queue +
                ": what is launched while the host waits for the GPU does not run (weft check); observing only\n"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("observing bubbles; " + one_queue + ": some time may be uncertain, 2 ranks; traces in "),
            std::string::npos)
      << said;
  EXPECT_EQ(SimulatedJob::words().device, 0u) << "no stream can write them";
  EXPECT_FALSE(job.is_registered(SimulatedJob::words().host));
  ASSERT_NE(SimulatedJob::words().events, nullptr);
  train(job, 45);
  const std::string last = job.close();
  EXPECT_NE(last.find("bubbles for"), std::string::npos) << last;
  EXPECT_EQ(streams_made, 0);

  const auto trace = job.trace();
  EXPECT_EQ(record_of(trace, "header")["idle_unknown"], "");
  EXPECT_EQ(record_of(trace, "header")["caution"], one_queue + ": some time may be uncertain");
  EXPECT_GE(count_of(trace, "bubble"), 30u);
  EXPECT_GT(record_of(trace, "summary")["idle"], 0);
  EXPECT_GE(count_of(trace, "iteration"), 5u);
}

TEST(OneHardwareQueue, IsNotFilledWhereNobodyCountsLaunches) {
  SimulatedJob job(
      Variables{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_LAUNCHES", "off"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  const std::string said = job.open();
  EXPECT_NE(said.find(one_queue + ": with WEFT_LAUNCHES=off it is not known what is enqueued there; observing only\n"),
            std::string::npos)
      << said;
  job.close();
}

// The events go with the context; new ones are made in the next one.
TEST(OneHardwareQueue, HasNewEventsAfterAReset) {
  SimulatedJob job(Variables{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  job.open();
  const MarkerEvent* const places = SimulatedJob::words().events;
  void* const first = places[0].event;
  job.core.context_closing(0);
  EXPECT_EQ(SimulatedJob::words().events, nullptr);
  job.reset_device();
  job.core.communicator_opened({2, 0, 0, 2});
  ASSERT_EQ(SimulatedJob::words().events, places);
  EXPECT_EQ(job.function<decltype(&::cuEventQuery)>("cuEventQuery")(static_cast<CUevent>(places[0].event)),
            CUDA_SUCCESS);
  EXPECT_NE(places[0].event, first);
  job.core.communicator_closing(2);
}

// Set where CUDA has not read it: with blocking launches a receive would block its own launch.
TEST(Unmarked, BlockingLaunches) {
  SimulatedJob job(Variables{});
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const std::string said = job.open();
  const std::string blocking = "blocking launches (CUDA_LAUNCH_BLOCKING=1)";
  EXPECT_NE(said.find(blocking + ": bubbles are not measured, idle time is unknown, 2 ranks; traces in "),
            std::string::npos)
      << said;
  EXPECT_NE(SimulatedJob::words().host, nullptr) << "groups are noted";
  EXPECT_EQ(SimulatedJob::words().device, 0u);
  EXPECT_EQ(SimulatedJob::words().events, nullptr);
  EXPECT_FALSE(job.is_registered(SimulatedJob::words().host));
  train(job, 45);
  const std::string last = job.close();
  EXPECT_NE(last.find("weft: rank 0: idle time unknown: " + blocking + "\n"), std::string::npos) << last;
  EXPECT_EQ(last.find("bubbles for"), std::string::npos) << last;

  const auto trace = job.trace();
  EXPECT_EQ(record_of(trace, "header")["idle_unknown"], blocking);
  EXPECT_EQ(record_of(trace, "header")["caution"], "");
  EXPECT_EQ(count_of(trace, "bubble"), 0u);
  EXPECT_GE(count_of(trace, "iteration"), 5u);
  EXPECT_TRUE(record_of(trace, "iteration")["idle"].is_null());
  const auto summary = record_of(trace, "summary");
  EXPECT_TRUE(summary["idle"].is_null());
  EXPECT_GE(summary["iterations"], 5);
  EXPECT_GT(summary["window_end"], summary["window_begin"]);
  // Three microbatches, each at least a millisecond of the host's.
  EXPECT_GE(summary["iteration_median"], 3000000);
}

// The driver reads the variable when CUDA starts; what counts is that Weft reads it once, at the first communicator.
TEST(Unmarked, AVariableThatIsSetLaterChangesNothing) {
  SimulatedJob job(Variables{});
  job.open();
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  job.close();
  job.core.communicator_opened({2, 0, 0, 2});
  job.core.communicator_closing(2);
  std::size_t headers = 0;
  for (const auto& record : job.trace()) {
    if (record["type"] != "header") continue;
    ++headers;
    EXPECT_EQ(record["caution"], "");
  }
  EXPECT_EQ(headers, 2u);
}

}  // namespace
}  // namespace weft
