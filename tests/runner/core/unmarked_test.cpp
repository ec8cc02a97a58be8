// Where nothing may be enqueued on the streams of the training (one hardware queue, blocking launches): no word is
// writable, no stream of Weft's is made, iterations are known from the groups as they are issued, and start line, end
// lines and trace say that idle time is unknown.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

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

TEST(Unmarked, OneHardwareQueueIsObservedWithoutEnqueueingAnything) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}});
  real_create = job.function<decltype(real_create)>("cuStreamCreateWithPriority");
  SimulatedJob::replaced["cuStreamCreateWithPriority"] = reinterpret_cast<void*>(&count_stream);
  const std::string said = job.open();
  EXPECT_NE(said.find("weft: warning: rank 0: " + one_queue +
                      ": fill work and the training would wait for each other; nothing is "
                      "filled\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(one_queue + ": bubbles are not measured, idle time is unknown, 2 ranks; traces in "),
            std::string::npos)
      << said;
  EXPECT_NE(SimulatedJob::words().host, nullptr) << "groups are noted";
  EXPECT_EQ(SimulatedJob::words().device, 0u) << "no stream can write them";
  EXPECT_FALSE(job.is_registered(SimulatedJob::words().host));
  train(job, 45);
  const std::string last = job.close();
  EXPECT_NE(last.find("weft: rank 0: idle time unknown: " + one_queue + "\n"), std::string::npos) << last;
  EXPECT_EQ(last.find("bubbles for"), std::string::npos) << last;
  EXPECT_EQ(streams_made, 0);

  const auto trace = job.trace();
  EXPECT_EQ(record_of(trace, "header")["idle_unknown"], one_queue);
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

// Nothing is trained: a receive would block its own launch, as it does on hardware.
TEST(Unmarked, BlockingLaunches) {
  SimulatedJob job(Variables{{"CUDA_LAUNCH_BLOCKING", "1"}});
  const std::string said = job.open();
  EXPECT_NE(said.find("blocking launches (CUDA_LAUNCH_BLOCKING=1): bubbles are not measured"), std::string::npos)
      << said;
  EXPECT_EQ(SimulatedJob::words().device, 0u);
  job.close();
}

// The driver reads the variable when CUDA starts; what counts is that Weft reads it once, at the first communicator.
TEST(Unmarked, AVariableThatIsSetLaterChangesNothing) {
  SimulatedJob job(Variables{});
  job.open();
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  EXPECT_NE(SimulatedJob::words().device, 0u);
  job.close();
  job.core.communicator_opened({2, 0, 0, 2});
  EXPECT_NE(SimulatedJob::words().device, 0u);
  job.core.communicator_closing(2);
}

}  // namespace
}  // namespace weft
