// Fill jobs that cannot be used, on the simulated driver: the core says why in one line, observes, and the job trains.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/runner/core/simulated_job.h"

namespace weft {
namespace {

using testing::copy_job;
using testing::count_of;
using testing::record_of;
using testing::SimulatedJob;
using testing::Variables;

std::string bad_job(const std::string& way) {
  return std::string(WEFT_TEST_JOBS) + "/bad_" + way + ".so";
}

struct Refusal {
  Variables variables;
  std::string text;  // what the one line says
};

// Each is one line, after which the process observes and trains.
void expect_refusal(const Refusal& refusal) {
  SimulatedJob job(refusal.variables);
  const std::size_t before = free_memory(job);
  const std::string said = job.open();
  EXPECT_NE(said.find(refusal.text), std::string::npos) << said;
  EXPECT_NE(said.find("; observing only\n"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;  // and the start line
  EXPECT_EQ(free_memory(job), before);
  train(job, 18);
  job.close();
  const auto trace = job.trace();
  EXPECT_GE(count_of(trace, "bubble"), 12u);
  EXPECT_EQ(record_of(trace, "summary").value("filling_stopped", false), true);
}

TEST(RefusedFillJob, Missing) {
  expect_refusal({{{"WEFT_FILL", "/nowhere/job.so"}}, "fill job /nowhere/job.so: no such file"});
}
// To open a FIFO or a terminal may wait for ever.
TEST(RefusedFillJob, NoRegularFile) {
  const std::string fifo = ::testing::TempDir() + "weft_fifo_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto began = std::chrono::steady_clock::now();
  expect_refusal({{{"WEFT_FILL", fifo}}, "fill job " + fifo + " is not a regular file"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  ::unlink(fifo.c_str());
}
TEST(RefusedFillJob, AFolder) {
  expect_refusal({{{"WEFT_FILL", "/usr"}}, "fill job /usr is not a regular file"});
}
TEST(RefusedFillJob, ADevice) {
  expect_refusal({{{"WEFT_FILL", "/dev/zero"}}, "fill job /dev/zero is not a regular file"});
}
TEST(RefusedFillJob, WrongVersion) {
  expect_refusal({{{"WEFT_FILL", bad_job("version")}}, "version 7 of the fill-job ABI"});
}
TEST(RefusedFillJob, CrashesInInit) {
  expect_refusal({{{"WEFT_FILL", bad_job("init_crashes")}}, "crashed in init"});
}
TEST(RefusedFillJob, CrashesInAUnit) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096,crash")}}, "crashed in begin_unit"});
}
// In a training that would be the end of its context.
TEST(RefusedFillJob, TouchesMarkedMemoryWhileItIsOnTheHost) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,65536,markedsave")}}, "save, while its marked memory is on the host"});
}
TEST(RefusedFillJob, ComputesWrong) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096,wrong")}}, "first unit is wrong"});
}
// A fatal fault of one client is reported to all of a server.
TEST(RefusedFillJob, UnderMps) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096")}, {"CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps"}}, "a client of MPS"});
}
TEST(RefusedFillJob, UnderMpsThatOnlyTheDriverKnowsOf) {
  static decltype(&::cuDeviceGetAttribute) real = nullptr;
  const decltype(&::cuDeviceGetAttribute) with_mps = [](int* value, CUdevice_attribute attribute, CUdevice device) {
    const CUresult result = real(value, attribute, device);
    if (attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED) *value = 1;
    return result;
  };
  const Refusal refusal{{{"WEFT_FILL", copy_job("2,4096")}}, "a client of MPS"};
  real = reinterpret_cast<decltype(real)>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuDeviceGetAttribute"));
  SimulatedJob::replaced["cuDeviceGetAttribute"] = reinterpret_cast<void*>(with_mps);
  expect_refusal(refusal);
}
TEST(RefusedFillJob, LeavesWorkOfItsInitBehind) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,16777216,pending")}}, "its init left work on the GPU behind"});
}
TEST(RefusedFillJob, LargerThanTheCap) {
  expect_refusal({{{"WEFT_FILL", bad_job("too_large")}}, "see WEFT_MEMORY"});
}
TEST(RefusedFillJob, AllocatesPastTheReservation) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096,own")}}, "it allocates 128 MiB of device memory itself"});
}
TEST(RefusedFillJob, AnEmptyUnit) {
  expect_refusal({{{"WEFT_FILL", bad_job("empty")}}, "the unit contains no work"});
}
TEST(RefusedFillJob, AHostFunction) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096,host")}}, "contains a host function, which cannot be sliced"});
}
TEST(RefusedFillJob, NoRoomOnTheDevice) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_MEMORY", "900GiB"}}, "the reservation of 921600 MiB"});
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_HEADROOM", "900GiB"}},
                  "921600 MiB have to stay free beside it (WEFT_HEADROOM)"});
}
TEST(RefusedFillJob, NoMultiprocessorsLeft) {
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096")}, {"WEFT_RESERVE_SMS", "132"}}, "leaves none of the 132"});
}
TEST(RefusedFillJob, MoreStreamsThanHardwareQueues) {
  SimulatedJob::streams_in_use = 8;
  expect_refusal({{{"WEFT_FILL", copy_job("2,4096")}}, "the training uses 8 streams, with Weft's more than its 8"});
}
TEST(RefusedFillJob, NoneNamed) {
  expect_refusal({{{"WEFT", "fill"}}, "mode fill without a fill job"});
}

}  // namespace
}  // namespace weft
