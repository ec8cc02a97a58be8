// Observing makes no context: not in the training's process, whose own one it uses, and in no process of its own.
#include <gtest/gtest.h>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using testing::copy_job;
using testing::SimulatedJob;
using testing::Variables;

int made = 0, held = 0;
decltype(&::cuDevicePrimaryCtxRetain) real_retain = nullptr;
decltype(&::cuDevicePrimaryCtxRelease_v2) real_release = nullptr;
decltype(&::cuDevicePrimaryCtxGetState) real_state = nullptr;

// Of a context that is not there it makes one, else it holds the training's once more.
CUresult count_retain(CUcontext* context, CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  real_state(device, &flags, &active);
  if (active == 0) ++made;
  ++held;
  return real_retain(context, device);
}

CUresult count_release(CUdevice device) {
  --held;
  return real_release(device);
}

// By whatever arguments: none of them is called.
CUresult count_making() {
  ++made;
  return CUDA_ERROR_NOT_SUPPORTED;
}

void count_contexts(SimulatedJob& job) {
  real_retain = job.function<decltype(real_retain)>("cuDevicePrimaryCtxRetain");
  real_release = job.function<decltype(real_release)>("cuDevicePrimaryCtxRelease_v2");
  real_state = job.function<decltype(real_state)>("cuDevicePrimaryCtxGetState");
  SimulatedJob::replaced["cuDevicePrimaryCtxRetain"] = reinterpret_cast<void*>(&count_retain);
  SimulatedJob::replaced["cuDevicePrimaryCtxRelease_v2"] = reinterpret_cast<void*>(&count_release);
  for (const char* name : {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4", "cuGreenCtxCreate"})
    SimulatedJob::replaced[name] = reinterpret_cast<void*>(&count_making);
}

void observe(const Variables& variables, bool has_context) {
  SimulatedJob job(variables);
  count_contexts(job);
  if (!has_context) job.function<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr);
  job.open();
  if (!has_context) job.use_context();
  train(job, 45);
  job.close();
  EXPECT_EQ(made, 0);
  EXPECT_EQ(held, 0) << "it would outlive the training's own hold";
  EXPECT_EQ(job.processes(), 1u) << "another process used the GPU";
}

TEST(Observing, MakesNoContext) {
  observe({}, true);
}

// The primary context of the device is asked for then.
TEST(Observing, MakesNoContextWhereNoneIsCurrent) {
  observe({}, false);
}

// A run that fills asks the GPU first, in processes of its own.
TEST(Observing, MakesNoContextToAskForHardwareQueues) {
  observe({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}, true);
}

// So the count of processes above would tell.
TEST(Filling, TriesTheJobInAProcessWithAContext) {
  SimulatedJob job(Variables{{"WEFT_FILL", copy_job("2,4096")}});
  job.open();
  job.close();
  EXPECT_GT(job.processes(), 1u);
}

}  // namespace
}  // namespace weft
