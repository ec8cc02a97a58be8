// Faults on request, and what a sticky error does to everything else.
#include <sys/wait.h>

#include <csignal>

#include "harness.h"

namespace simtest {
namespace {

TEST(Faults, AStickyErrorPoisonsTheContext) {
  isolated({{"SIMGPU_FAULTS", "launch@2=719"}}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    Spin* words = make_spin();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, 0));
    function("work");
    spin(b, words);
    CHECK_CUDA(cuEventRecord(event, b));
    work(a, 1, 100);
    EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(cuStreamQuery(b), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuMemAlloc(&memory, 4), CUDA_ERROR_LAUNCH_FAILED);
    double flops = 1;
    void* parameters[] = {&flops};
    EXPECT_EQ(cuLaunchKernel(function("work"), 1, 1, 1, 1, 1, 1, 0, a, parameters, nullptr), CUDA_ERROR_LAUNCH_FAILED);
    await_record([](const Json& record) { return record["type"] == "fault" && record["error"] == 719; });
  });
}

TEST(Faults, WorkOfEveryKindIsDroppedCleanly) {
  isolated({{"SIMGPU_FAULTS", "launch@3"}, {"SIMGPU_HOST_BANDWIDTH", "1e6"}}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    const CUstream c = stream();
    void* host = nullptr;
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemHostAlloc(&host, 1 << 20, 0));
    CHECK_CUDA(cuMemAlloc(&memory, 1 << 20));
    int milliseconds = 50;
    void* parameters[] = {&milliseconds};
    function("work");
    CHECK_CUDA(cuLaunchKernel(function("late"), 1, 1, 1, 32, 1, 1, 0, a, parameters, nullptr));
    CHECK_CUDA(cuMemcpyHtoDAsync(memory, host, 1 << 20, b));
    CHECK_CUDA(cuLaunchHostFunc(
        c, [](void*) {}, nullptr));
    work(c, 100, 1'000);
    work(a, 1, 100);
    CHECK_CUDA(cuStreamDestroy(a));
    const CUstream d = c;
    cuStreamWaitValue32(d, reinterpret_cast<CUdeviceptr>(host), 1, CU_STREAM_WAIT_VALUE_EQ);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST(Faults, TheNthAllocationFails) {
  isolated({{"SIMGPU_FAULTS", "alloc@2"}}, [] {
    make_context();
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemAlloc(&memory, 4));
    EXPECT_EQ(cuMemAlloc(&memory, 4), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_CUDA(cuMemAlloc(&memory, 4));
  });
}

TEST(Faults, TheProcessDiesAtTheNthLaunchAndTheLogSurvives) {
  const int status = isolated(
      {{"SIMGPU_FAULTS", "die@3"}},
      [] {
        make_context();
        const CUstream s = stream();
        work(s, 1, 100);
        work(s, 1, 100);
        work(s, 1, 100);
        cuStreamSynchronize(s);
      },
      false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(records_of("kernel").size(), 2U);
}

std::vector<int64_t> durations(const Environment& environment) {
  isolated(environment, [] {
    make_context();
    const CUstream s = stream();
    for (int count = 0; count < 20; ++count) work(s, 1, 1'000);
    CHECK_CUDA(cuStreamSynchronize(s));
  });
  std::vector<int64_t> all;
  for (const Json& record : records_of("kernel")) {
    all.push_back(record["end"].get<int64_t>() - record["start"].get<int64_t>());
  }
  return all;
}

TEST(Faults, JitterIsBoundedAndRepeatable) {
  const auto first = durations({{"SIMGPU_FAULTS", "jitter=5%"}, {"SIMGPU_SEED", "7"}});
  ASSERT_EQ(first.size(), 20U);
  EXPECT_EQ(first, durations({{"SIMGPU_FAULTS", "jitter=5%"}, {"SIMGPU_SEED", "7"}}));
  EXPECT_NE(first, durations({{"SIMGPU_FAULTS", "jitter=5%"}, {"SIMGPU_SEED", "8"}}));
  for (const int64_t each : first) {
    EXPECT_GE(each, 950'000);
    EXPECT_LE(each, 1'050'000);
  }
}

TEST(Faults, SlowDevicesAndTimeScale) {
  EXPECT_EQ(durations({{"SIMGPU_FAULTS", "slow=2.5"}}).at(3), 2'500'000);
  EXPECT_EQ(durations({{"SIMGPU_TIME_SCALE", "10"}}).at(3), 10'000'000);
}

}  // namespace
}  // namespace simtest
