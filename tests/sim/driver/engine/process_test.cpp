// The driver in its process: initialisation, contexts, handles, fork, exit, settings.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "harness.h"

namespace simtest {
namespace {

TEST(Process, NothingWorksBeforeInitialisation) {
  isolated({}, [] {
    int count = 0;
    CUcontext context = nullptr;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_INITIALIZED);
    const char* name = nullptr;
    EXPECT_EQ(cuGetErrorName(CUDA_ERROR_NOT_READY, &name), CUDA_SUCCESS);
    EXPECT_STREQ(name, "CUDA_ERROR_NOT_READY");
    EXPECT_EQ(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &name), CUDA_SUCCESS);
    EXPECT_STREQ(name, "invalid value");
    EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(123), &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(Process, DevicesSayWhatTheyAre) {
  isolated({{"SIMGPU_DEVICES", "2"}, {"SIMGPU_SMS", "60"}, {"SIMGPU_MEMORY", "2GiB"}}, [] {
    make_context();
    int count = 0;
    CHECK_CUDA(cuDeviceGetCount(&count));
    EXPECT_EQ(count, 2);
    char name[64] = {};
    CHECK_CUDA(cuDeviceGetName(name, sizeof(name), 0));
    EXPECT_STREQ(name, "Simulated GPU (not hardware)");
    const auto attribute = [](CUdevice_attribute which) {
      int value = -1;
      EXPECT_EQ(cuDeviceGetAttribute(&value, which, 1), CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 60);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    std::size_t bytes = 0;
    CHECK_CUDA(cuDeviceTotalMem(&bytes, 1));
    EXPECT_EQ(bytes, std::size_t{2} << 30);
    CUdevice device = 0;
    EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    char bus[32] = {};
    CHECK_CUDA(cuDeviceGetPCIBusId(bus, sizeof(bus), 1));
    CHECK_CUDA(cuDeviceGetByPCIBusId(&device, bus));
    EXPECT_EQ(device, 1);
    int least = 1;
    int greatest = 1;
    CHECK_CUDA(cuCtxGetStreamPriorityRange(&least, &greatest));
    EXPECT_EQ(least, 0);
    EXPECT_EQ(greatest, -5);
  });
}

TEST(Process, ContextsStackAndPrimaryContextsAreCounted) {
  isolated({}, [] {
    CUcontext primary = make_context();
    CUcontext again = nullptr;
    CHECK_CUDA(cuDevicePrimaryCtxRetain(&again, 0));
    EXPECT_EQ(again, primary);
    CUcontext own = nullptr;
    CUctxCreateParams parameters{};
    CHECK_CUDA(cuCtxCreate(&own, &parameters, 0, 0));
    CUcontext current = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, own);
    CHECK_CUDA(cuCtxPopCurrent(&current));
    EXPECT_EQ(current, own);
    CHECK_CUDA(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, primary);
    CHECK_CUDA(cuCtxDestroy(own));
    EXPECT_EQ(cuCtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_CUDA(cuDevicePrimaryCtxRelease(0));
    unsigned flags = 0;
    int active = 0;
    CHECK_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    CHECK_CUDA(cuDevicePrimaryCtxRelease(0));
    CHECK_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(Process, InventedHandlesAreRefused) {
  isolated({}, [] {
    make_context();
    const CUstream real = stream();
    for (const std::uintptr_t value : {std::uintptr_t{3}, std::uintptr_t{0xdeadbeef},
                                       reinterpret_cast<std::uintptr_t>(real) + 8, ~std::uintptr_t{0}}) {
      EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(value)), CUDA_ERROR_INVALID_HANDLE);
      EXPECT_EQ(cuStreamDestroy(reinterpret_cast<CUstream>(value)), CUDA_ERROR_INVALID_HANDLE);
      EXPECT_EQ(cuEventQuery(reinterpret_cast<CUevent>(value)), CUDA_ERROR_INVALID_HANDLE);
      EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(value)), CUDA_ERROR_INVALID_CONTEXT);
    }
    EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(Process, PrioritiesAreClampedAndCanBeChanged) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream(CU_STREAM_NON_BLOCKING, -100);
    int priority = 0;
    CHECK_CUDA(cuStreamGetPriority(s, &priority));
    EXPECT_EQ(priority, -5);
    CUstreamAttrValue value{};
    value.priority = -2;
    CHECK_CUDA(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    value.priority = 0;
    CHECK_CUDA(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    EXPECT_EQ(value.priority, -2);
    unsigned flags = 0;
    CHECK_CUDA(cuStreamGetFlags(s, &flags));
    EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
    CUcontext context = nullptr;
    CHECK_CUDA(cuStreamGetCtx(s, &context));
    CUcontext current = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&current));
    EXPECT_EQ(context, current);
  });
}

TEST(Process, AForkedChildHasNoDevice) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    work(s, 1, 50'000);
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = cuStreamQuery(s) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                           cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED;
#if defined(__SANITIZE_ADDRESS__)
      _exit(refused ? 0 : 1);  // the leak check at exit may hang in a child of a process with threads
#else
      std::exit(refused ? 0 : 1);
#endif
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(kernel("work")["end"].get<int64_t>() - kernel("work")["start"].get<int64_t>(), 50'000'000);
  });
  EXPECT_EQ(records_of("kernel").size(), 1U);  // the child has not written the log again
}

TEST(Process, ExitWithThreadsThatStillCall) {
  isolated({}, [] {
    CUcontext context = make_context();
    static CUstream s = stream();
    work(s, 1, 10'000'000);
    for (int count = 0; count < 4; ++count) {
      std::thread([context] {
        cuCtxSetCurrent(context);
        for (;;) {
          const CUresult result = cuStreamQuery(s);
          if (result == CUDA_ERROR_DEINITIALIZED) continue;
          if (result != CUDA_ERROR_NOT_READY) std::abort();
        }
      }).detach();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
}

TEST(Process, ManyThreadsAtOnce) {
  isolated({}, [] {
    CUcontext context = make_context();
    function("work");
    function("add");
    // One for each round: the streams of two rounds are in no order.
    constexpr std::size_t rounds = 50;
    int result[4 * rounds] = {};
    CUdeviceptr counters = 0;
    CHECK_CUDA(cuMemAlloc(&counters, sizeof result));
    CHECK_CUDA(cuMemsetD32(counters, 0, std::size(result)));
    CHECK_CUDA(cuCtxSynchronize());
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < 4; ++number) {
      threads.emplace_back([=] {
        EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        int one = 1;
        for (std::size_t round = 0; round < rounds; ++round) {
          CUdeviceptr counter = counters + (number * rounds + round) * sizeof(int);
          void* parameters[] = {&counter, &one, &one};
          const CUstream s =
              stream(round % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, -static_cast<int>(round % 3));
          CUevent event = nullptr;
          EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
          EXPECT_EQ(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, s, parameters, nullptr), CUDA_SUCCESS);
          EXPECT_EQ(cuEventRecord(event, s), CUDA_SUCCESS);
          EXPECT_EQ(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0), CUDA_SUCCESS);
          work(CU_STREAM_PER_THREAD, 3, 20);
          while (round % 5 == 0 && cuEventQuery(event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
          EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
          EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
          if (round % 10 == 0) {
            EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_CUDA(cuCtxSynchronize());
    CHECK_CUDA(cuMemcpyDtoH(result, counters, sizeof result));
    for (const int each : result) EXPECT_EQ(each, 1);
  });
  EXPECT_EQ(records_of("kernel").size(), 400U);
}

TEST(Process, TheLogNamesThreadsAndHasAHeader) {
  isolated({}, [] {
    CUcontext context = make_context();
    const CUstream s = stream();
    function("work");
    std::thread thread([&] {
      pthread_setname_np(pthread_self(), "weft-dispatch");
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      work(s, 2, 100);
    });
    thread.join();
    CHECK_CUDA(cuStreamSynchronize(s));
  });
  const auto headers = records_of("header");
  ASSERT_EQ(headers.size(), 1U);
  EXPECT_EQ(headers[0]["format"], "simgpu-log");
  EXPECT_EQ(headers[0]["version"], 1);
  EXPECT_EQ(headers[0]["sms"], 4);
  const auto kernels = records_of("kernel");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0]["thread"], "weft-dispatch");
  EXPECT_EQ(kernels[0]["blocks"], 2);
  EXPECT_LE(kernels[0]["launched"], kernels[0]["start"]);
}

TEST(Process, UnknownSettingsAreReportedOnce) {
  isolated({{"SIMGPU_SPEED", "11"}, {"SIMGPU_SMS", "many"}, {"SIMGPU_TRACE_UNSUPPORTED", "1"}}, [] {
    testing::internal::CaptureStderr();
    make_context();
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("SIMGPU_SPEED=11 is ignored"), std::string::npos);
    EXPECT_NE(text.find("SIMGPU_SMS=many is ignored"), std::string::npos);
    EXPECT_EQ(text.find("SIMGPU_TRACE_UNSUPPORTED"), std::string::npos);  // the runtime knows it
    int count = 0;
    CHECK_CUDA(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    EXPECT_EQ(count, 132);
  });
}

// How the thread of this process with that name is scheduled; nothing where there is none.
std::optional<int> scheduling_of(std::string_view name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string line;
    std::getline(file, line);
    if (line == name) return sched_getscheduler(std::stoi(task.path().filename())) & ~SCHED_RESET_ON_FORK;
  }
  return std::nullopt;
}

TEST(Process, ThreadsOfTheGpuGoBeforeHostsOnRequest) {
  const auto run = [](bool is_wanted) {
    testing::internal::CaptureStderr();
    make_context();
    const CUstream s = stream();
    CUdeviceptr memory = 0;
    CHECK_CUDA(cuMemAlloc(&memory, 4096));
    CHECK_CUDA(cuMemsetD8Async(memory, 0, 4096, s));
    CHECK_CUDA(cuLaunchHostFunc(
        s, [](void*) {}, nullptr));
    CHECK_CUDA(cuStreamSynchronize(s));
    const std::string text = testing::internal::GetCapturedStderr();
    const bool is_refused = text.find("SIMGPU_SCHEDULING=realtime is ignored") != std::string::npos;
    const sched_param parameters{.sched_priority = 1};
    const bool is_permitted = sched_setscheduler(0, SCHED_RR, &parameters) == 0;
    EXPECT_EQ(is_refused, is_wanted && !is_permitted) << text;
    const int wanted = is_wanted && is_permitted ? SCHED_RR : SCHED_OTHER;
    // A host that waits does the GPU's work itself, so the GPU's thread need not have run yet.
    for (int i = 0; i < 2000 && scheduling_of("simgpu") != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(scheduling_of("simgpu"), wanted);
    EXPECT_EQ(scheduling_of("simgpu-work"), wanted);
    EXPECT_EQ(scheduling_of("simgpu-call"), SCHED_OTHER);  // the program's own function
  };
  isolated({{"SIMGPU_SCHEDULING", "realtime"}}, [&] { run(true); });
  isolated({}, [&] { run(false); });
}

TEST(Process, TheDriverVersionIsThatOfTheSetting) {
  const auto version_with = [](const char* setting, int wanted, bool complains) {
    isolated({{"SIMGPU_DRIVER_VERSION", setting}}, [=] {
      int before = 0;
      int after = 0;
      testing::internal::CaptureStderr();
      CHECK_CUDA(cuDriverGetVersion(&before));
      make_context();
      CHECK_CUDA(cuDriverGetVersion(&after));
      const std::string text = testing::internal::GetCapturedStderr();
      EXPECT_EQ(text.find("SIMGPU_DRIVER_VERSION") != std::string::npos, complains) << text;
      EXPECT_EQ(before, wanted);
      EXPECT_EQ(after, wanted);
    });
  };
  version_with("12040", 12040, false);
  version_with("12040x", CUDA_VERSION, true);
  version_with("5", CUDA_VERSION, true);
}

TEST(Process, TheEngineSleepsWhileASpinningKernelWaits) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    Spin* words = make_spin();
    spin(s, words);
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double used =
        static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
    EXPECT_LT(used, 0.2);
    release(words);
    CHECK_CUDA(cuStreamSynchronize(s));
  });
}

}  // namespace
}  // namespace simtest
