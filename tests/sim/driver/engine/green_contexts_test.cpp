// Green contexts: which hardware queue their streams have, with both answers to that, what drivers before 13.1 and 12.4
// say, whose events are whose, and who waits for them.
#include "harness.h"
#include "runner/core/newer_cuda.h"

namespace simtest {
namespace {

const Environment one_queue{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"SIMGPU_DRIVER_VERSION", "13010"}};

Environment with(const char* name, const char* value) {
  Environment settings = one_queue;
  settings.emplace_back(name, value);
  return settings;
}

CUresult describe(unsigned scope, unsigned limit, CUdevResourceDesc& description) {
  CUdevResource resource{};
  if (const CUresult result = cuDeviceGetDevResource(0, &resource, weft::resource_type_workqueue_config());
      result != CUDA_SUCCESS)
    return result;
  weft::set_workqueue_config(resource, {0, limit, scope});
  return cuDevResourceGenerateDesc(&description, &resource, 1);
}

CUgreenCtx make_green(unsigned scope = weft::workqueue_scope_balanced) {
  CUdevResourceDesc description = nullptr;
  EXPECT_EQ(describe(scope, 1, description), CUDA_SUCCESS);
  CUgreenCtx green = nullptr;
  EXPECT_EQ(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  return green;
}

CUstream green_stream(CUgreenCtx green) {
  CUstream made = nullptr;
  EXPECT_EQ(cuGreenCtxStreamCreate(&made, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  return made;
}

// Whether a kernel in a green context starts beside a stream that waits for a running kernel, a kernel behind it.
bool runs_beside(const Environment& settings, unsigned scope) {
  isolated(settings, [&] {
    make_context();
    const CUstream first = stream(), second = stream(), other = green_stream(make_green(scope));
    CUevent event = nullptr;
    CHECK_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    function("wide");
    work(first, 1, 20'000);
    CHECK_CUDA(cuEventRecord(event, first));
    CHECK_CUDA(cuStreamWaitEvent(second, event, 0));
    work(second, 1, 100);
    work(other, 1, 100, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());  // of the primary context: waits for green ones, too
    EXPECT_EQ(cuStreamQuery(other), CUDA_SUCCESS);
  });
  return kernel("wide")["start"].get<int64_t>() < kernel("work")["end"].get<int64_t>();
}

TEST(GreenContexts, ShareTheQueueUnlessAsked) {
  EXPECT_FALSE(runs_beside(one_queue, weft::workqueue_scope_balanced));
  EXPECT_TRUE(runs_beside(with("SIMGPU_QUEUE_GREEN_CONTEXT", "own"), weft::workqueue_scope_balanced));
  EXPECT_FALSE(runs_beside(with("SIMGPU_QUEUE_GREEN_CONTEXT", "own"), weft::workqueue_scope_device_context));
}

TEST(GreenContexts, TheDeviceTellsTheNumberOfItsQueues) {
  isolated(one_queue, [] {
    make_context();
    CUdevResource resource{};
    CHECK_CUDA(cuDeviceGetDevResource(0, &resource, weft::resource_type_workqueue_config()));
    EXPECT_EQ(weft::workqueue_config(resource).concurrency_limit, 1U);
    EXPECT_EQ(weft::workqueue_config(resource).scope, weft::workqueue_scope_device_context);
    CHECK_CUDA(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT_EQ(resource.sm.smCount, 4U);
    CUdevResourceDesc all = nullptr, part = nullptr;
    CHECK_CUDA(cuDevResourceGenerateDesc(&all, &resource, 1));
    resource.sm.smCount = 2;
    EXPECT_EQ(cuDevResourceGenerateDesc(&part, &resource, 1), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT_EQ(describe(weft::workqueue_scope_balanced, 0, part), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CUgreenCtx green = nullptr;
    EXPECT_EQ(cuGreenCtxCreate(&green, all, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGreenCtxCreate(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
    CHECK_CUDA(cuGreenCtxCreate(&green, all, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CUstream made = nullptr;
    EXPECT_EQ(cuGreenCtxStreamCreate(&made, green, CU_STREAM_DEFAULT, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(GreenContexts, OlderDriversHaveNoneOrNoWorkqueues) {
  isolated({{"SIMGPU_DRIVER_VERSION", "13000"}}, [] {
    make_context();
    CUdevResourceDesc description = nullptr;
    EXPECT_EQ(describe(weft::workqueue_scope_balanced, 1, description), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  });
  isolated({{"SIMGPU_DRIVER_VERSION", "12030"}}, [] {
    make_context();
    CUdevResource resource{};
    EXPECT_EQ(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_NOT_SUPPORTED);
  });
}

TEST(GreenContexts, AreContextsWithStreamsAndEventsOfTheirOwn) {
  isolated(with("SIMGPU_QUEUE_GREEN_CONTEXT", "own"), [] {
    const CUcontext primary = make_context();
    const CUgreenCtx green = make_green(), asked_of_nobody = nullptr;
    const CUstream inside = green_stream(green), outside = stream();
    CUcontext converted = nullptr, found = nullptr;
    CUgreenCtx found_green = asked_of_nobody;
    CHECK_CUDA(cuCtxFromGreenCtx(&converted, green));
    CHECK_CUDA(cuStreamGetCtx(inside, &found));
    EXPECT_EQ(found, converted);
    CHECK_CUDA(cuStreamGetCtx_v2(inside, &found, &found_green));
    EXPECT_EQ(found, primary);
    EXPECT_EQ(found_green, green);
    CHECK_CUDA(cuStreamGetGreenCtx(outside, &found_green));
    EXPECT_EQ(found_green, nullptr);
    EXPECT_EQ(cuCtxDestroy(converted), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxFromGreenCtx(&found, reinterpret_cast<CUgreenCtx>(primary)), CUDA_ERROR_INVALID_CONTEXT);

    CUevent of_primary = nullptr, of_green = nullptr;
    CHECK_CUDA(cuEventCreate(&of_primary, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuCtxPushCurrent(converted));
    CHECK_CUDA(cuEventCreate(&of_green, CU_EVENT_DISABLE_TIMING));
    CHECK_CUDA(cuCtxPopCurrent(nullptr));
    EXPECT_EQ(cuEventRecord(of_primary, inside), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CUDA(cuEventRecord(of_green, inside));
    work(inside, 1, 5'000);
    CHECK_CUDA(cuGreenCtxRecordEvent(green, of_green));
    EXPECT_EQ(cuEventQuery(of_green), CUDA_ERROR_NOT_READY);
    CHECK_CUDA(cuStreamSynchronize(outside));
    CHECK_CUDA(cuEventSynchronize(of_green));
    work(outside, 1, 5'000);
    CHECK_CUDA(cuEventRecord(of_primary, outside));
    CHECK_CUDA(cuGreenCtxWaitEvent(green, of_primary));
    work(inside, 1, 100, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_GE(kernel("wide")["start"].get<int64_t>(), kernel("work", 1)["end"].get<int64_t>());
  });
}

TEST(GreenContexts, CaptureAgainstAWaitForThePrimaryContext) {
  isolated(one_queue, [] {
    make_context();
    const CUstream inside = green_stream(make_green());
    CUgraph graph = nullptr;
    CHECK_CUDA(cuStreamBeginCapture(inside, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(inside, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_CUDA(cuCtxSynchronize());
  });
}

TEST(GreenContexts, HoldThePrimaryContextUntilTheyAreDestroyed) {
  isolated(one_queue, [] {
    make_context();
    const CUgreenCtx green = make_green();
    CHECK_CUDA(cuStreamDestroy(green_stream(green)));
    CHECK_CUDA(cuDevicePrimaryCtxRelease(0));
    unsigned flags = 0;
    int active = 0;
    CHECK_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    CHECK_CUDA(cuGreenCtxDestroy(green));
    CHECK_CUDA(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(GreenContexts, GoWithAPrimaryContextThatIsReset) {
  isolated(one_queue, [] {
    make_context();
    const CUgreenCtx green = make_green();
    const CUstream inside = green_stream(green);
    work(inside, 1, 1'000);
    CHECK_CUDA(cuDevicePrimaryCtxReset(0));
    EXPECT_EQ(cuStreamQuery(inside), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
  });
}

}  // namespace
}  // namespace simtest
