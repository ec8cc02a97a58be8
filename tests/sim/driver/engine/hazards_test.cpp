// The strict adversary: what stalls next to a spinning kernel on hardware stalls here, and is written down.
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "harness.h"

namespace simtest {
namespace {

Json hazard(const std::string& what) {
  return await_record([&](const Json& record) { return record["type"] == "hazard" && record["what"] == what; });
}

// A thread that waits for something; one that merely has not been scheduled is not asleep.
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const std::size_t state = line.rfind(") ");
  return state != std::string::npos && line[state + 2] == 'S';
}

// Does `call` on a thread of its own while a spinning kernel is resident; it must not return before the kernel is over.
void expect_stall(const std::function<void()>& prepare, const std::function<void()>& call, const std::string& what) {
  isolated({}, [&] {
    CUcontext context = make_context();
    prepare();
    const CUstream s = stream();
    Spin* words = make_spin();
    spin(s, words);
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
    std::atomic<bool> returned{false};
    std::atomic<pid_t> caller{0};
    std::thread thread([&] {
      prctl(PR_SET_NAME, "adventurer");
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      caller = gettid();
      call();
      returned = true;
    });
    wait_until([&] { return returned || (caller != 0 && is_asleep(caller)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(returned);
    release(words);
    thread.join();
    const Json record = hazard(what);
    EXPECT_EQ(record["thread"], "adventurer");
    EXPECT_EQ(record["behind"], "ncclDevKernel_Spin");
    EXPECT_GT(record["stall_ns"], 1'000'000);
  });
}

TEST(Hazards, AllocationStalls) {
  expect_stall([] {},
               [] {
                 CUdeviceptr memory = 0;
                 EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS);
               },
               "cuMemAlloc");
}

TEST(Hazards, FreeStalls) {
  static CUdeviceptr memory = 0;
  expect_stall([] { EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS); },
               [] { EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS); }, "cuMemFree");
}

TEST(Hazards, StreamCreationStalls) {
  expect_stall([] {}, [] { stream(); }, "cuStreamCreateWithPriority");
}

// Whether a launch on this thread waits for the kernel that another thread's call waits for.
void expect_launch_beside(const std::function<void()>& prepare, const std::function<void()>& call, bool waits) {
  isolated({}, [&] {
    CUcontext context = make_context();
    prepare();
    const CUstream s = stream(), other = stream();
    Spin *const words = make_spin(), *const others = make_spin();
    spin(s, words);
    release(others);
    std::atomic<pid_t> caller{0}, launcher{0};
    std::atomic<bool> launched{false};
    std::thread thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      caller = gettid();
      call();
    });
    wait_until([&] { return caller != 0 && is_asleep(caller); });
    std::thread beside([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      launcher = gettid();
      spin(other, others);
      launched = true;
    });
    wait_until([&] { return launched || (launcher != 0 && is_asleep(launcher)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(launched, !waits);
    release(words);
    thread.join();
    beside.join();
  });
}

TEST(Hazards, AFreeHoldsLaunchesOfOtherThreadsUp) {
  static CUdeviceptr memory = 0;
  expect_launch_beside([] { EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS); },
                       [] { EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS); }, true);
}

TEST(Hazards, AnAllocationDoesNot) {
  expect_launch_beside([] {},
                       [] {
                         CUdeviceptr memory = 0;
                         EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS);
                       },
                       false);
}

TEST(Hazards, LaunchRecordAndQueryDoNot) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    Spin* words = make_spin();
    function("work");
    spin(a, words);
    work(b, 1, 1'000);
    CHECK_CUDA(cuEventRecord(event, b));
    CHECK_CUDA(cuStreamSynchronize(b));
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuEventDestroy(event));
    release(words);
    CHECK_CUDA(cuCtxSynchronize());
    kernel("ncclDevKernel_Spin");
    EXPECT_TRUE(records_of("hazard").empty());
  });
}

TEST(Hazards, CanBeOnlyLogged) {
  isolated({{"SIMGPU_HAZARDS", "log"}}, [] {
    make_context();
    const CUstream a = stream();
    Spin* words = make_spin();
    spin(a, words);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemAlloc(&memory, 1 << 20));
    hazard("cuMemAlloc");
    release(words);
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(Hazards, ALongStallIsReportedOnStandardError) {
  isolated({}, [] {
    testing::internal::CaptureStderr();
    CUcontext context = make_context();
    const CUstream a = stream();
    Spin* words = make_spin();
    spin(a, words);
    std::thread thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CUdeviceptr memory = 0;
      EXPECT_EQ(cuMemAlloc(&memory, 1 << 20), CUDA_SUCCESS);
    });
    await_record([](const Json& record) { return record["type"] == "stalled" && record["what"] == "cuMemAlloc"; });
    release(words);
    thread.join();
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cuMemAlloc behind ncclDevKernel_Spin"), std::string::npos);
  });
}

TEST(Hazards, SpinningKernelsEndAtTheTimeTheyName) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    Spin* words = make_spin();
    function("work");
    spin(a, words);
    work(a, 1, 100);
    words->finish = now() + 20'000'000;
    release(words);
    CHECK_CUDA(cuStreamSynchronize(a));
    EXPECT_EQ(kernel("ncclDevKernel_Spin")["end"], words->finish.load());
    EXPECT_EQ(kernel("work")["start"], words->finish.load() + 1000);
  });
}

}  // namespace
}  // namespace simtest
