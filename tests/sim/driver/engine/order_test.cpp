// Streams and hardware queues: what waits for what, and when it starts. Times come from the log and are exact.
#include "harness.h"

namespace simtest {
namespace {

constexpr int64_t latency = 3000;
constexpr int64_t gap = 1000;

TEST(Order, KernelsOfAStreamFollowEachOther) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    work(s, 1, 50'000);  // longer than the launch of the second one takes on an instrumented host
    work(s, 1, 200);
    CHECK_CUDA(cuStreamSynchronize(s));
    const Json first = kernel("work", 0);
    const Json second = kernel("work", 1);
    EXPECT_EQ(first["start"], first["launched"].get<int64_t>() + latency);
    EXPECT_EQ(first["end"].get<int64_t>() - first["start"].get<int64_t>(), 50'000'000);
    EXPECT_EQ(second["start"], first["end"].get<int64_t>() + gap);
    EXPECT_EQ(second["end"].get<int64_t>() - second["start"].get<int64_t>(), 200'000);
    EXPECT_FALSE(first["spin"]);
    EXPECT_EQ(first["effect"], "none");
  });
}

TEST(Order, MarkersCostTheirStreamWhatTheSettingsSay) {
  isolated({{"SIMGPU_WRITE_TIME", "40us"}, {"SIMGPU_RECORD_TIME", "7us"}}, [] {
    make_context();
    const CUstream s = stream();
    void* word = nullptr;
    CHECK_CUDA(cuMemHostAlloc(&word, sizeof(cuuint32_t), 0));
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    work(s, 1, 50'000);
    CHECK_CUDA(cuStreamWriteValue32(s, reinterpret_cast<CUdeviceptr>(word), 1, 0));
    work(s, 1, 500);
    CHECK_CUDA(cuEventRecord(event, s));
    work(s, 1, 500);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(kernel("work", 1)["start"], kernel("work", 0)["end"].get<int64_t>() + 40'000 + gap);
    EXPECT_EQ(kernel("work", 2)["start"], kernel("work", 1)["end"].get<int64_t>() + 7'000 + gap);
  });
}

TEST(Order, StreamsRunSideBySide) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    work(a, 1, 20'000);
    work(b, 1, 1'000);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_LT(kernel("work", 0)["end"], kernel("work", 1)["end"]);
    EXPECT_EQ(kernel("work", 0)["blocks"], 1);
    EXPECT_GT(kernel("work", 0)["start"], kernel("work", 1)["start"]);
  });
}

TEST(Order, EventsOrderStreams) {
  isolated({}, [] {
    make_context();
    const CUstream a = stream();
    const CUstream b = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    work(a, 1, 50'000);
    CHECK_CUDA(cuEventRecord(event, a));
    CHECK_CUDA(cuStreamWaitEvent(b, event, 0));
    work(b, 1, 100);
    // A later record does not move the wait that was placed before it.
    work(a, 1, 50'000);
    CHECK_CUDA(cuEventRecord(event, a));
    CHECK_CUDA(cuCtxSynchronize());
    const Json first = kernel("work", 0);
    const Json second = kernel("work", 1);
    EXPECT_EQ(second["end"].get<int64_t>() - second["start"].get<int64_t>(), 100'000);
    EXPECT_EQ(second["start"], first["end"].get<int64_t>() + gap);
  });
}

// Two streams in one hardware queue: what is behind a blocked head waits with it.
int64_t start_behind_a_blocked_stream(const char* connections) {
  isolated({{"CUDA_DEVICE_MAX_CONNECTIONS", connections}}, [] {
    make_context();
    const CUstream blocked = stream();
    const CUstream free = stream();
    const CUstream source = stream();
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, 0));
    function("wide");
    work(source, 1, 30'000);
    CHECK_CUDA(cuEventRecord(event, source));
    CHECK_CUDA(cuStreamWaitEvent(blocked, event, 0));
    work(blocked, 1, 100);
    work(free, 1, 100, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());
  });
  Json source;
  Json probe;
  for (const Json& record : records_of("kernel")) {
    if (record["name"] == "wide") probe = record;
    if (record["name"] == "work" && source.is_null()) source = record;
  }
  for (const Json& record : records_of("kernel")) {
    if (record["start"] < source["start"]) source = record;
  }
  return probe["start"].get<int64_t>() - source["end"].get<int64_t>();
}

TEST(Order, OneConnectionBlocksBehindTheHead) {
  EXPECT_GE(start_behind_a_blocked_stream("1"), 0);
}
TEST(Order, SeveralConnectionsDoNot) {
  EXPECT_LT(start_behind_a_blocked_stream("8"), 0);
}

TEST(Order, LegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  isolated({}, [] {
    make_context();
    const CUstream blocking = stream(CU_STREAM_DEFAULT);
    const CUstream other = stream(CU_STREAM_DEFAULT);
    work(blocking, 1, 5'000);
    work(CU_STREAM_LEGACY, 1, 2'000);
    work(other, 1, 1'000);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_GE(kernel("work", 1)["start"], kernel("work", 0)["end"]);
    EXPECT_GE(kernel("work", 2)["start"], kernel("work", 1)["end"]);
    EXPECT_EQ(kernel("work", 2)["end"].get<int64_t>() - kernel("work", 2)["start"].get<int64_t>(), 1'000'000);
  });
}

TEST(Order, AWaitForTheLegacyStreamIsOneForBlockingStreams) {
  isolated({}, [] {
    make_context();
    const CUstream blocking = stream(CU_STREAM_DEFAULT);
    const CUstream other = stream();
    work(other, 1, 300'000);
    work(blocking, 1, 50'000);
    EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuStreamSynchronize(CU_STREAM_LEGACY));
    EXPECT_EQ(cuStreamQuery(blocking), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(Order, NonBlockingStreamsIgnoreTheLegacyStream) {
  isolated({}, [] {
    make_context();
    const CUstream free = stream(CU_STREAM_NON_BLOCKING);
    work(nullptr, 1, 20'000);
    work(free, 1, 1'000);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_LT(kernel("work", 0)["end"], kernel("work", 1)["end"]);
    EXPECT_GT(kernel("work", 0)["start"], kernel("work", 1)["start"]);
  });
}

TEST(Order, PerThreadStreamsBlockOnTheLegacyStream) {
  isolated({}, [] {
    make_context();
    work(CU_STREAM_PER_THREAD, 1, 5'000);
    work(CU_STREAM_LEGACY, 1, 1'000);
    CHECK_CUDA(cuCtxSynchronize());
    const Json first = kernel("work", 0);
    const Json second = kernel("work", 1);
    EXPECT_GE(second["start"], first["end"]);
    EXPECT_NE(second["stream"], first["stream"]);
  });
}

TEST(Order, QuerySaysWhetherAStreamIsDone) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
    work(s, 1, 200'000);
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
  });
}

TEST(Order, ADestroyedStreamFinishesItsWork) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    work(s, 1, 5'000);
    CHECK_CUDA(cuStreamDestroy(s));
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(kernel("work")["end"].get<int64_t>() - kernel("work")["start"].get<int64_t>(), 5'000'000);
  });
}

TEST(Order, HostFunctionsRunInStreamOrder) {
  isolated({}, [] {
    make_context();
    const CUstream s = stream();
    std::atomic<int> calls{0};
    work(s, 1, 20'000);
    CHECK_CUDA(cuLaunchHostFunc(
        s, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &calls));
    CHECK_CUDA(cuStreamAddCallback(
        s,
        [](CUstream, CUresult status, void* data) {
          if (status == CUDA_SUCCESS) *static_cast<std::atomic<int>*>(data) += 10;
        },
        &calls, 0));
    EXPECT_EQ(calls, 0);
    CHECK_CUDA(cuStreamSynchronize(s));
    EXPECT_EQ(calls, 11);
  });
}

}  // namespace
}  // namespace simtest
