// The one hardware queue: which commands of other streams hold up what is launched behind them, with both answers to
// each question that nobody has put to a GPU yet (SIMGPU_QUEUE_...).
#include <chrono>
#include <optional>
#include <thread>

#include "harness.h"

namespace simtest {
namespace {

constexpr int64_t gap = 1000;

struct Scene {
  CUstream first;   // a kernel runs there
  CUstream second;  // another stream of the training
  CUevent event;
  CUdeviceptr word;
};

// Whether a kernel of a third stream starts while the first one runs, when this is enqueued in between.
bool runs_beside(Environment settings, const std::function<void(const Scene&)>& between, int priority = 0) {
  settings.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  isolated(settings, [&] {
    make_context();
    Scene scene{stream(), stream(), nullptr, 0};
    CUstream other = nullptr;
    CHECK_CUDA(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, priority));
    CHECK_CUDA(cuEventCreate(&scene.event, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuMemAlloc(&scene.word, 8));
    function("wide");
    work(scene.first, 1, 20'000);
    between(scene);
    work(other, 1, 100, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());
  });
  int64_t end = 0, start = 0;
  for (const Json& record : records_of("kernel")) {
    if (record["name"] == "wide") start = record["start"].get<int64_t>();
    if (record["name"] == "work" && end == 0) end = record["end"].get<int64_t>();
  }
  return start < end;
}

void nothing(const Scene&) {}
void record(const Scene& scene) {
  CHECK_CUDA(cuEventRecord(scene.event, scene.first));
}
void write(const Scene& scene) {
  CHECK_CUDA(cuStreamWriteValue32(scene.first, scene.word, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
}
void write_in_batch(const Scene& scene) {
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = scene.word;
  CHECK_CUDA(cuStreamBatchMemOp(scene.first, 1, &write, 0));
}
void kernel_behind(const Scene& scene) {
  work(scene.first, 1, 100);
}
void wait_of_another_stream(const Scene& scene) {
  record(scene);
  CHECK_CUDA(cuStreamWaitEvent(scene.second, scene.event, 0));
}
void wait_and_kernel(const Scene& scene) {
  wait_of_another_stream(scene);
  work(scene.second, 1, 100);
}
void memory_wait(const Scene& scene) {
  write(scene);
  CHECK_CUDA(cuStreamWaitValue32(scene.second, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
}

TEST(Queues, ARunningKernelHoldsNothing) {
  EXPECT_TRUE(runs_beside({}, nothing));
}
TEST(Queues, ARecordBehindItDoesNotUnlessAsked) {
  EXPECT_TRUE(runs_beside({}, record));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_RECORD", "holds"}}, record));
}
TEST(Queues, AWriteBehindItDoesUnlessAsked) {
  EXPECT_FALSE(runs_beside({}, write));
  EXPECT_FALSE(runs_beside({}, write_in_batch));
  EXPECT_TRUE(runs_beside({{"SIMGPU_QUEUE_WRITE", "passes"}}, write));
  EXPECT_TRUE(runs_beside({{"SIMGPU_QUEUE_WRITE", "passes"}}, write_in_batch));
}
TEST(Queues, AKernelBehindItDoesUnlessAsked) {
  EXPECT_FALSE(runs_beside({}, kernel_behind));
  EXPECT_TRUE(runs_beside({{"SIMGPU_QUEUE_KERNEL", "passes"}}, kernel_behind));
}
TEST(Queues, AWaitOfAnotherStreamDoesNotUnlessAskedButAKernelBehindItDoes) {
  EXPECT_FALSE(runs_beside({}, wait_and_kernel));
  EXPECT_TRUE(runs_beside({}, wait_of_another_stream));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_WAIT", "holds"}}, wait_of_another_stream));
}
void record_behind_wait(const Scene& scene) {
  wait_of_another_stream(scene);
  CHECK_CUDA(cuEventRecord(scene.event, scene.second));
}
TEST(Queues, ARecordBehindAWaitDoesNotUnlessAsked) {
  EXPECT_TRUE(runs_beside({}, record_behind_wait));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_RECORD_BEHIND_WAIT", "holds"}}, record_behind_wait));
  EXPECT_TRUE(runs_beside({{"SIMGPU_QUEUE_RECORD_BEHIND_WAIT", "holds"}}, record));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_RECORD", "holds"}}, record_behind_wait));
}
// A kernel waits through streams that have nothing left, and all of them stand in the queue behind a kernel of another.
TEST(Queues, TheLogSaysWhenAKernelWasDueThatItsQueueHeldUp) {
  EXPECT_FALSE(runs_beside({}, [](const Scene& scene) {
    kernel_behind(scene);
    CHECK_CUDA(cuEventRecord(scene.event, scene.second));
    const CUstream third = stream();
    CHECK_CUDA(cuStreamWaitEvent(third, scene.event, 0));
    work(third, 1, 100, 256, "wide");
  }));
  const Json first = records_of("kernel").at(0);
  for (const Json& record : records_of("kernel")) {
    if (record["name"] != "wide") continue;
    EXPECT_GT(record["start"].get<int64_t>(), first["end"].get<int64_t>());
    EXPECT_LT(record["due"].get<int64_t>(), first["end"].get<int64_t>() - 10'000'000);
  }
  EXPECT_TRUE(records_of("wait").empty()) << "they stood for the queue, not for each other";
}
TEST(Queues, TheLogSaysWhichStreamStoodForWhich) {
  EXPECT_FALSE(runs_beside({}, wait_and_kernel));
  const std::vector<Json> waits = records_of("wait");
  const Json first = records_of("kernel").at(0);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0]["for"], first["stream"]);
  EXPECT_NE(waits[0]["stream"], first["stream"]);
  EXPECT_LT(waits[0]["start"].get<int64_t>(), first["end"].get<int64_t>() - 10'000'000);
  EXPECT_GE(waits[0]["end"], first["end"]);
  const Json behind = records_of("kernel").at(1);
  EXPECT_GE(behind["due"], first["end"]);
}
// Two kernels one after the other.
void graph(const Scene& scene) {
  CUgraph recorded = nullptr;
  CUgraphExec executable = nullptr;
  CHECK_CUDA(cuStreamBeginCapture(scene.second, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int kernel = 0; kernel < 2; ++kernel) work(scene.second, 1, 20'000);
  CHECK_CUDA(cuStreamEndCapture(scene.second, &recorded));
  CHECK_CUDA(cuGraphInstantiate(&executable, recorded, 0));
  CHECK_CUDA(cuGraphLaunch(executable, scene.second));
}
TEST(Queues, AGraphHoldsItUntilItsLastNodeBeginsIfAsked) {
  EXPECT_TRUE(runs_beside({}, graph));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_GRAPH", "holds"}}, graph));
}

// A thread waits for the context while another one launches.
int64_t launched_beside_a_host_wait(const Environment& settings, std::optional<bool> waits_for_it) {
  isolated(settings, [&] {
    make_context();
    CUcontext context = nullptr;
    CHECK_CUDA(cuCtxGetCurrent(&context));
    const CUstream first = stream(), second = stream();
    function("wide");
    work(first, 1, 30'000);
    std::thread waits([&] {
      CHECK_CUDA(cuCtxSetCurrent(context));
      CHECK_CUDA(cuCtxSynchronize());
      if (waits_for_it) {
        EXPECT_EQ(cuStreamQuery(second) == CUDA_SUCCESS, *waits_for_it);
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    work(second, 1, 60'000, 256, "wide");
    waits.join();
    CHECK_CUDA(cuCtxSynchronize());
  });
  return kernel("wide")["start"].get<int64_t>() - kernel("work")["end"].get<int64_t>();
}
TEST(Queues, LaunchesDoNotStandWhileTheHostWaitsUnlessAsked) {
  EXPECT_LT(launched_beside_a_host_wait({}, false), 0);
  EXPECT_GT(launched_beside_a_host_wait({{"SIMGPU_HOST_WAIT_LAUNCH", "holds"}}, std::nullopt), 0);
}
TEST(Queues, AHostThatWaitsForTheContextWaitsForLaterLaunchesIfAsked) {
  EXPECT_LT(launched_beside_a_host_wait({{"SIMGPU_HOST_WAIT", "all"}}, true), 0);
}

TEST(Queues, AMemoryWaitDoes) {
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_WRITE", "passes"}}, memory_wait));
}
TEST(Queues, StreamsOfOtherPriorityShareTheQueueUnlessAsked) {
  EXPECT_FALSE(runs_beside({}, wait_and_kernel, -1));
  EXPECT_TRUE(runs_beside({{"SIMGPU_QUEUE_PRIORITY", "own"}}, wait_and_kernel, -1));
  EXPECT_FALSE(runs_beside({{"SIMGPU_QUEUE_PRIORITY", "own"}}, wait_and_kernel, 0));
}

// A command that has left the queue still has its turn in its stream.
TEST(Queues, WhatPassesKeepsItsPlaceInItsStream) {
  isolated({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"SIMGPU_QUEUE_WRITE", "passes"}, {"SIMGPU_QUEUE_KERNEL", "passes"}},
           [] {
             make_context();
             const CUstream first = stream();
             CUdeviceptr word = 0;
             CHECK_CUDA(cuMemAlloc(&word, 8));
             const auto* value = reinterpret_cast<volatile uint32_t*>(word);
             CUevent before = nullptr;
             CHECK_CUDA(cuEventCreate(&before, 0));
             work(first, 1, 5'000);
             CHECK_CUDA(cuEventRecord(before, first));
             CHECK_CUDA(cuStreamWriteValue32(first, word, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
             work(first, 1, 5'000);
             CHECK_CUDA(cuStreamWriteValue32(first, word, 2, CU_STREAM_WRITE_VALUE_DEFAULT));
             EXPECT_EQ(cuEventQuery(before), CUDA_ERROR_NOT_READY);
             EXPECT_EQ(*value, 0U);
             CHECK_CUDA(cuStreamSynchronize(first));
             EXPECT_EQ(*value, 2U);
             EXPECT_EQ(kernel("work", 1)["start"], kernel("work", 0)["end"].get<int64_t>() + gap);
           });
}

}  // namespace
}  // namespace simtest
