// Green contexts with a share of the multiprocessors: where their blocks run, on a stream and as nodes of a graph, whom
// they hold up, and how the multiprocessors are split.
#include "harness.h"

namespace simtest {
namespace {

constexpr unsigned all = 20, share = 12;  // the groups are of 8
const Environment twenty{{"SIMGPU_SMS", "20"}};

CUdevResource rest_behind(unsigned reserved) {
  CUdevResource whole{}, front{}, rest{};
  unsigned groups = 1;
  EXPECT_EQ(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
  EXPECT_EQ(cuDevSmResourceSplitByCount(&front, &groups, &whole, &rest, 0, reserved), CUDA_SUCCESS);
  return rest;
}

CUgreenCtx make_green(CUdevResource resource) {
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, &resource, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  return green;
}

CUcontext context_of(CUgreenCtx green) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
  return context;
}

// A `work` kernel as a node.
struct WorkNode {
  explicit WorkNode(unsigned blocks) {
    parameters.gridDimX = blocks;
    parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.blockDimX = 256;
    parameters.kernelParams = arguments;
  }
  void run(CUstream stream) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  double operations = 1e5;
  void* arguments[1] = {&operations};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  CUgraphExec executable = nullptr;
};

CUkernel kernel_handle(const char* name) {
  static const char image[] = ".version 8.0";
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  EXPECT_EQ(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, name), CUDA_SUCCESS);
  return kernel;
}

void expect_within(const Json& record, unsigned first, unsigned last) {
  EXPECT_GE(record["lowest_sm"].get<unsigned>(), first);
  EXPECT_LE(record["highest_sm"].get<unsigned>(), last);
}

TEST(SmShares, AGridOfAnySizeStaysInItsGreenContext) {
  isolated(twenty, [] {
    make_context();
    CUstream inside = nullptr;
    const CUgreenCtx green = make_green(rest_behind(8));
    CHECK_CUDA(cuGreenCtxStreamCreate(&inside, green, CU_STREAM_NON_BLOCKING, 0));
    work(inside, 10'000, 1);
    CHECK_CUDA(cuStreamSynchronize(inside));
    expect_within(kernel("work"), 8, 19);
    EXPECT_EQ(kernel("work")["sms"].get<unsigned>(), share);
    work(stream(), 10'000, 1, 256, "wide");
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_EQ(kernel("wide")["sms"].get<unsigned>(), all);
    CUdevResource found{};
    CHECK_CUDA(cuGreenCtxGetDevResource(green, &found, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT_EQ(found.sm.smCount, share);
    CHECK_CUDA(cuCtxGetDevResource(nullptr, &found, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT_EQ(found.sm.smCount, all);
  });
}

TEST(SmShares, HoldUpNobodyOutside) {
  isolated(twenty, [] {
    make_context();
    CUstream inside = nullptr;
    CHECK_CUDA(cuGreenCtxStreamCreate(&inside, make_green(rest_behind(8)), CU_STREAM_NON_BLOCKING, 0));
    work(inside, 2'000, 500);  // many more than fit, of the same priority and ahead
    Spin* const words = make_spin();
    spin(stream(), words, 4, 4);
    release(words);
    CHECK_CUDA(cuCtxSynchronize());
    EXPECT_LT(kernel("ncclDevKernel_Spin")["end"].get<int64_t>(), kernel("work")["end"].get<int64_t>());
  });
}

TEST(SmShares, ANodeRunsInItsOwnContextWhereItsKernelBelongsToNone) {
  isolated(twenty, [] {
    make_context();
    const CUgreenCtx green = make_green(rest_behind(8));
    WorkNode node(500);
    node.parameters.kern = kernel_handle("work");
    node.parameters.ctx = context_of(green);
    const CUstream outside = stream();
    node.run(outside);
    expect_within(kernel("work"), 8, 19);
    CHECK_CUDA(cuGreenCtxDestroy(green));
    EXPECT_NE(cuGraphLaunch(node.executable, outside), CUDA_SUCCESS);
  });
}

TEST(SmShares, AFunctionStaysInTheContextOfItsModule) {
  isolated(twenty, [] {
    make_context();
    const CUgreenCtx green = make_green(rest_behind(8));
    WorkNode node(500);
    node.parameters.func = function("work");
    node.parameters.ctx = context_of(green);  // does not count
    node.run(stream());
    EXPECT_EQ(kernel("work")["sms"].get<unsigned>(), all);
  });
}

TEST(SmShares, WhatIsCapturedOnAStreamRunsInItsContext) {
  isolated(twenty, [] {
    make_context();
    CUstream inside = nullptr;
    CHECK_CUDA(cuGreenCtxStreamCreate(&inside, make_green(rest_behind(8)), CU_STREAM_NON_BLOCKING, 0));
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    function("work");
    CHECK_CUDA(cuStreamBeginCapture(inside, CU_STREAM_CAPTURE_MODE_RELAXED));
    work(inside, 500, 10);
    CHECK_CUDA(cuStreamEndCapture(inside, &graph));
    CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0));
    const CUstream outside = stream();
    CHECK_CUDA(cuGraphLaunch(executable, outside));
    CHECK_CUDA(cuStreamSynchronize(outside));
    expect_within(kernel("work"), 8, 19);
  });
}

TEST(SmShares, GroupsAreWholeAndTheRestIsWhatIsLeft) {
  isolated(twenty, [] {
    make_context();
    CUdevResource whole{}, groups[4] = {}, rest{};
    CHECK_CUDA(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    unsigned count = 0;
    CHECK_CUDA(cuDevSmResourceSplitByCount(nullptr, &count, &whole, nullptr, 0, 3));
    EXPECT_EQ(count, 2U);
    count = 4;
    CHECK_CUDA(cuDevSmResourceSplitByCount(groups, &count, &whole, &rest, 0, 3));
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(groups[1].sm.smCount, 8U);
    EXPECT_EQ(rest.sm.smCount, 4U);
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups, &count, &whole, &rest, 0, 21),
              CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    EXPECT_EQ(cuDevSmResourceSplitByCount(groups, &count, &rest, nullptr, 0, 4),
              CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    CHECK_CUDA(cuDevSmResourceSplitByCount(nullptr, &count, &groups[0], &rest, 0, 8));
    EXPECT_EQ(rest.type, CU_DEV_RESOURCE_TYPE_INVALID);
  });
}

TEST(SmShares, AKernelThatNeedsAllItsBlocksAtOnceHasToFitIntoTheShare) {
  isolated(twenty, [] {
    make_context();
    CUstream inside = nullptr;
    CHECK_CUDA(cuGreenCtxStreamCreate(&inside, make_green(rest_behind(8)), CU_STREAM_NON_BLOCKING, 0));
    double operations = 1;
    void* arguments[] = {&operations};
    const unsigned blocks = 2 * 16;  // of 1024 threads, two on each of 16 multiprocessors
    EXPECT_EQ(cuLaunchCooperativeKernel(function("work"), blocks, 1, 1, 1024, 1, 1, 0, inside, arguments),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CHECK_CUDA(cuLaunchCooperativeKernel(function("work"), blocks, 1, 1, 1024, 1, 1, 0, stream(), arguments));
    CHECK_CUDA(cuCtxSynchronize());
  });
}

}  // namespace
}  // namespace simtest
