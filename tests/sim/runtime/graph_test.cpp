// Graphs: captured and built by hand, launched, read back and updated.
#include <gtest/gtest.h>

#include <vector>

#include "kernels.h"
#include "owners.h"

namespace {

class Graph {
 public:
  ~Graph() {
    if (executable != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
};

TEST(Graph, CapturedWorkRunsAtLaunchAndNotBefore) {
  Stream stream(cudaStreamNonBlocking);
  Device<int> data(8);
  data.fill(0);
  Graph graph;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  EXPECT_EQ(cudaStreamIsCapturing(stream.get(), &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  launch_add_one(data.get(), 8, stream.get());
  launch_add_one(data.get(), 8, stream.get());
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 0;
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream.get(), &status, &id, nullptr, &dependencies, nullptr, &count), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(count, 1U);
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph.graph), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(8, 0));

  ASSERT_EQ(cudaGraphGetNodes(graph.graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2U);
  ASSERT_EQ(cudaGraphInstantiate(&graph.executable, graph.graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphUpload(graph.executable, stream.get()), cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cudaGraphLaunch(graph.executable, stream.get()), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(data.read(), std::vector<int>(8, 6));
}

TEST(Graph, ForkAndJoinThroughEvents) {
  Stream first(cudaStreamNonBlocking);
  Stream second(cudaStreamNonBlocking);
  Event fork;
  Event join;
  Device<int> journal(4);
  journal.fill(0);
  Graph graph;
  ASSERT_EQ(cudaStreamBeginCapture(first.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  launch_append(journal.get(), 1, first.get());
  ASSERT_EQ(cudaEventRecord(fork.get(), first.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second.get(), fork.get(), 0), cudaSuccess);
  launch_append(journal.get(), 2, second.get());
  ASSERT_EQ(cudaEventRecord(join.get(), second.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(first.get(), join.get(), 0), cudaSuccess);
  launch_append(journal.get(), 3, first.get());
  ASSERT_EQ(cudaStreamEndCapture(first.get(), &graph.graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&graph.executable, graph.graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(graph.executable, first.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(first.get()), cudaSuccess);
  EXPECT_EQ(journal.read(), (std::vector<int>{3, 1, 2, 3}));
}

TEST(Graph, BuiltByHandAndReadBack) {
  Stream stream(cudaStreamNonBlocking);
  Device<int> data(4);
  Graph graph;
  ASSERT_EQ(cudaGraphCreate(&graph.graph, 0), cudaSuccess);

  cudaMemsetParams set = {};
  set.dst = data.get();
  set.elementSize = 1;
  set.width = 4 * sizeof(int);
  set.height = 1;
  cudaGraphNode_t set_node = nullptr;
  ASSERT_EQ(cudaGraphAddMemsetNode(&set_node, graph.graph, nullptr, 0, &set), cudaSuccess);

  int* pointer = data.get();
  int count = 4;
  void* arguments[] = {&pointer, &count};
  cudaKernelNodeParams kernel = {};
  kernel.func = const_cast<void*>(add_one_kernel());
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = arguments;
  cudaGraphNode_t kernel_node = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&kernel_node, graph.graph, &set_node, 1, &kernel), cudaSuccess);

  std::vector<int> back(4);
  cudaGraphNode_t copy_node = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy_node, graph.graph, &kernel_node, 1, back.data(), data.get(), 4 * sizeof(int),
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);

  bool called = false;
  cudaHostNodeParams host = {};
  host.fn = [](void* flag) { *static_cast<bool*>(flag) = true; };
  host.userData = &called;
  cudaGraphNode_t host_node = nullptr;
  ASSERT_EQ(cudaGraphAddHostNode(&host_node, graph.graph, &copy_node, 1, &host), cudaSuccess);

  cudaKernelNodeParams found = {};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(kernel_node, &found), cudaSuccess);
  EXPECT_EQ(found.func, add_one_kernel());
  EXPECT_EQ(found.blockDim.x, 32U);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_EQ(cudaGraphNodeGetType(host_node, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeHost);

  ASSERT_EQ(cudaGraphInstantiate(&graph.executable, graph.graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(graph.executable, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(back, std::vector<int>(4, 1));
  EXPECT_TRUE(called);

  count = 2;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(graph.executable, kernel_node, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(graph.executable, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(back, (std::vector<int>{1, 1, 0, 0}));
}

TEST(Graph, UpdatedFromAnother) {
  Stream stream(cudaStreamNonBlocking);
  Device<int> first(2);
  Device<int> second(2);
  first.fill(0);
  second.fill(0);
  Graph one;
  Graph two;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  launch_add_one(first.get(), 2, stream.get());
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &one.graph), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  launch_add_one(second.get(), 2, stream.get());
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &two.graph), cudaSuccess);
  cudaGraphInstantiateParams parameters = {};
  ASSERT_EQ(cudaGraphInstantiateWithParams(&one.executable, one.graph, &parameters), cudaSuccess);
  EXPECT_EQ(parameters.result_out, cudaGraphInstantiateSuccess);
  cudaGraphExecUpdateResultInfo result = {};
  ASSERT_EQ(cudaGraphExecUpdate(one.executable, two.graph, &result), cudaSuccess);
  EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
  ASSERT_EQ(cudaGraphLaunch(one.executable, stream.get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(first.read(), std::vector<int>(2, 0));
  EXPECT_EQ(second.read(), std::vector<int>(2, 1));
}

TEST(Graph, UnsafeCallInvalidatesACapture) {
  Stream stream(cudaStreamNonBlocking);
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
}

}  // namespace
