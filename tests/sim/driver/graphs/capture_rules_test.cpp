// Calls that a capture forbids, to whom, and with which error: the documented ways to make it invalid.
#include "graph_test.h"

namespace {

class CaptureRules : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ASSERT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  void begin(CUstreamCaptureMode mode, CUstream on = nullptr) {
    ASSERT_CUDA(cuStreamBeginCapture(on == nullptr ? stream : on, mode));
  }
  CUresult end(CUstream on = nullptr) { return cuStreamEndCapture(on == nullptr ? stream : on, &captured); }
  CUstreamCaptureStatus status() {
    CUstreamCaptureStatus result = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_CUDA(cuStreamIsCapturing(stream, &result));
    return result;
  }
  CUresult allocate() {
    CUdeviceptr pointer = 0;
    const CUresult result = cuMemAlloc(&pointer, 64);
    if (result == CUDA_SUCCESS) {
      EXPECT_CUDA(cuMemFree(pointer));
    }
    return result;
  }
  template <class Call>
  CUresult in_other_thread(Call call) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      EXPECT_CUDA(cuCtxSetCurrent(context));
      result = call();
    }).join();
    return result;
  }

  CUstream other = nullptr;
  CUevent event = nullptr;
  CUgraph captured = nullptr;
};

TEST_F(CaptureRules, UnsafeCallsOfTheCapturingThreadInvalidate) {
  for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    begin(mode);
    EXPECT_EQ(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(launch("add_to", data, count, 1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    captured = graph;
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(captured, nullptr);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_NONE);
  }
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(allocate());
  EXPECT_CUDA(end());
}

TEST_F(CaptureRules, QueriesAndSynchronizationAreUnsafe) {
  ASSERT_CUDA(cuEventRecord(event, other));
  ASSERT_CUDA(cuStreamSynchronize(other));
  const auto expect_invalidated = [&](CUresult result) {
    EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  expect_invalidated(cuEventQuery(event));
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  expect_invalidated(cuStreamSynchronize(stream));
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  expect_invalidated(cuCtxSynchronize());
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  expect_invalidated(cuStreamQuery(stream));
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(cuEventQuery(event));
  EXPECT_CUDA(cuStreamSynchronize(other));
  EXPECT_CUDA(end());
}

// It stands for all streams of the context, so also where unsafe calls are allowed.
TEST_F(CaptureRules, AContextIsNotWaitedForWhileAStreamOfItCaptures) {
  const auto relaxed = [](CUresult (*call)(CUcontext)) {
    return [call] {
      CUcontext current = nullptr;
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
      EXPECT_CUDA(cuCtxGetCurrent(&current));
      return call(current);
    };
  };
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    begin(mode);
    EXPECT_EQ(in_other_thread(relaxed([](CUcontext) { return cuCtxSynchronize(); })),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(mode);
    EXPECT_EQ(in_other_thread(relaxed([](CUcontext which) { return cuCtxSynchronize_v2(which); })),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_CUDA(cuCtxSynchronize());
}

TEST_F(CaptureRules, AnotherContextMayBeWaitedForBesideARelaxedCapture) {
  CUcontext second = nullptr;
  ASSERT_CUDA(cuCtxCreate(&second, nullptr, 0, 0));
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(cuCtxSynchronize());
  EXPECT_CUDA(end());
  EXPECT_CUDA(cuCtxDestroy(second));
}

TEST_F(CaptureRules, OnlyGlobalCapturesConcernOtherThreads) {
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(in_other_thread([&] { return allocate(); }), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_CUDA(in_other_thread([&] { return allocate(); }));
  EXPECT_CUDA(end());
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  const auto relaxed = [&] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    return allocate();
  };
  EXPECT_CUDA(in_other_thread(relaxed));
  EXPECT_CUDA(end());
}

TEST_F(CaptureRules, ItEndsWhereAndByWhomItBegan) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(in_other_thread([&] { return end(); }), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(in_other_thread([&] { return end(); }));
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);

  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_CUDA(cuEventRecord(event, stream));
  ASSERT_CUDA(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(end(other), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureRules, ForkedWorkHasToComeBack) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  ASSERT_CUDA(cuEventRecord(event, stream));
  ASSERT_CUDA(cuStreamWaitEvent(other, event, 0));
  ASSERT_CUDA(launch("add_to", data, count, 1, other));
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(captured, nullptr);
  EXPECT_CUDA(launch("add_to", data, count, 1, other));
  EXPECT_CUDA(cuStreamSynchronize(other));
  EXPECT_EQ(first(), 2);
}

TEST_F(CaptureRules, DependenciesOnWorkOutsideAreRefused) {
  ASSERT_CUDA(cuEventRecord(event, other));
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureRules, TwoCapturesCannotMerge) {
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, other);
  ASSERT_CUDA(cuEventRecord(event, other));
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(other), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureRules, ACapturedEventIsNoEventForTheHost) {
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  ASSERT_CUDA(cuEventRecord(event, stream));
  ASSERT_CUDA(end());
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_ERROR_CAPTURED_EVENT);
  ASSERT_CUDA(cuEventRecord(event, other));
  EXPECT_CUDA(cuEventSynchronize(event));
}

TEST_F(CaptureRules, TheLegacyStreamIsInTheWayOfBlockingStreamsOnly) {
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(launch("add_to", data, count, 1, nullptr));
  EXPECT_CUDA(end());
  CUstream blocking = nullptr;
  ASSERT_CUDA(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  begin(CU_STREAM_CAPTURE_MODE_RELAXED, blocking);
  EXPECT_EQ(launch("add_to", data, count, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureRules, CallbacksAndStreamOrderedAllocationAreNotSupported) {
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamAddCallback(
                stream, [](CUstream, CUresult, void*) {}, nullptr, 0),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAllocAsync(&pointer, 64, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
