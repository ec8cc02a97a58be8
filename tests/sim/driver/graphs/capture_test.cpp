// Stream capture: what becomes a node, forks and joins through events, and what can be asked while it goes on.
#include "graph_test.h"

namespace {

class Capture : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    ASSERT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ASSERT_CUDA(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    ASSERT_CUDA(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  }
  CUgraph end() {
    CUgraph captured = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &captured));
    return captured;
  }
  CUstream other = nullptr;
  CUevent fork = nullptr;
  CUevent join = nullptr;
};

TEST_F(Capture, WorkBecomesNodesAndRunsOnlyWhenLaunched) {
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(launch("add_to", data, count, 2, stream));
  ASSERT_CUDA(launch("multiply", data, count, 5, stream));
  ASSERT_CUDA(cuMemsetD32Async(data + 4, 8, 1, stream));
  ASSERT_CUDA(cuLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  const CUgraph captured = end();
  EXPECT_EQ(first(), 1);
  const std::vector<CUgraphNode> nodes = nodes_of(captured);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(edge_count(captured), 3U);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_KERNEL);
  EXPECT_EQ(type_of(nodes[2]), CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(type_of(nodes[3]), CU_GRAPH_NODE_TYPE_HOST);
  const CUgraphExec executable = instantiate(captured);
  run(executable);
  EXPECT_EQ(first(), 15);
  run(executable);
  EXPECT_EQ(first(), 85);
  // The same work again, cut in two.
  CUgraph part = nullptr;
  ASSERT_CUDA(cuGraphCreate(&part, 0));
  CUDA_KERNEL_NODE_PARAMS parameters{};
  ASSERT_CUDA(cuGraphKernelNodeGetParams(nodes[1], &parameters));
  CUgraphNode copy = nullptr;
  ASSERT_CUDA(cuGraphAddKernelNode(&copy, part, nullptr, 0, &parameters));
  ASSERT_CUDA(cuGraphDestroy(captured));
  run(instantiate(part));
  EXPECT_EQ(first(), 425);
}

TEST_F(Capture, EventsForkAndJoin) {
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  ASSERT_CUDA(cuEventRecord(fork, stream));
  ASSERT_CUDA(cuStreamWaitEvent(other, fork, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  ASSERT_CUDA(cuStreamIsCapturing(other, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_CUDA(launch("multiply", data, 1, 4, other));  // beside the set, which leaves the first number alone
  ASSERT_CUDA(cuEventRecord(join, other));
  ASSERT_CUDA(cuMemsetD32Async(data + 4, 8, 1, stream));
  ASSERT_CUDA(cuStreamWaitEvent(stream, join, 0));
  ASSERT_CUDA(launch("add_to", data, count, 3, stream));
  const CUgraph captured = end();
  EXPECT_EQ(node_count(captured), 4U);
  EXPECT_EQ(edge_count(captured), 4U);
  ASSERT_CUDA(cuStreamIsCapturing(other, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  run(instantiate(captured));
  EXPECT_EQ(first(), 11);
}

TEST_F(Capture, InformationAndDependencies) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  cuuint64_t id = 0;
  CUgraph in_progress = nullptr;
  const CUgraphNode* dependencies = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t number = 0;
  const auto ask = [&] {
    return cuStreamGetCaptureInfo(stream, &status, &id, &in_progress, &dependencies, &edges, &number);
  };
  ASSERT_CUDA(ask());
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  ASSERT_CUDA(ask());
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0U);
  ASSERT_EQ(number, 1U);
  const std::vector<CUgraphNode> nodes = nodes_of(in_progress);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(dependencies[0], nodes[1]);
  CUgraphNode first_node = nodes[0];
  ASSERT_CUDA(cuStreamUpdateCaptureDependencies(stream, &first_node, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  const CUgraph captured = end();
  EXPECT_EQ(captured, in_progress);
  CUgraphNode before = nullptr;
  number = 1;
  ASSERT_CUDA(cuGraphNodeGetDependencies(nodes_of(captured)[2], &before, nullptr, &number));
  EXPECT_EQ(before, first_node);
}

TEST_F(Capture, IntoAGraphThatIsThere) {
  const CUgraphNode before = kernel("add_to", 1);
  ASSERT_CUDA(cuStreamBeginCaptureToGraph(stream, graph, &before, nullptr, 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(launch("multiply", data, count, 6, stream));
  EXPECT_EQ(end(), graph);
  EXPECT_EQ(edge_count(graph), 1U);
  run(instantiate(graph));
  EXPECT_EQ(first(), 12);
}

TEST_F(Capture, GraphLaunchesAndMemoryOperationsAreCaptured) {
  kernel("add_to", 7);
  const CUgraphExec inner = instantiate(graph);
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(cuGraphLaunch(inner, stream));
  ASSERT_CUDA(cuStreamWriteValue32(stream, data + 8, 77, 0));
  const CUgraph captured = end();
  const std::vector<CUgraphNode> nodes = nodes_of(captured);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_GRAPH);
  EXPECT_EQ(type_of(nodes[1]), CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  ASSERT_CUDA(cuGraphExecDestroy(inner));
  run(instantiate(captured));
  EXPECT_EQ(first(), 8);
  int written = 0;
  ASSERT_CUDA(cuMemcpyDtoH(&written, data + 8, sizeof(written)));
  EXPECT_EQ(written, 77);
}

TEST_F(Capture, ExternalEventsBecomeNodes) {
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(launch("add_to", data, count, 1, stream));
  ASSERT_CUDA(cuEventRecordWithFlags(fork, stream, CU_EVENT_RECORD_EXTERNAL));
  ASSERT_CUDA(cuStreamWaitEvent(stream, join, CU_EVENT_WAIT_EXTERNAL));
  const CUgraph captured = end();
  const std::vector<CUgraphNode> nodes = nodes_of(captured);
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(type_of(nodes[1]), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  EXPECT_EQ(type_of(nodes[2]), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  run(instantiate(captured));
  EXPECT_CUDA(cuEventQuery(fork));
}

TEST_F(Capture, ALaunchThatMayBeginEarlyBecomesAnEdgeThatSaysSo) {
  int value = 3;
  void* parameters[3];
  const CUDA_KERNEL_NODE_PARAMS described = kernel_parameters("add_to", value, parameters);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = described.gridDimX;
  config.blockDimX = described.blockDimX;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUgraph captured = nullptr;
  ASSERT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int launch = 0; launch < 2; ++launch)
    ASSERT_CUDA(cuLaunchKernelEx(&config, described.func, described.kernelParams, nullptr));
  ASSERT_CUDA(cuStreamEndCapture(stream, &captured));
  CUgraphNode from = nullptr, to = nullptr;
  CUgraphEdgeData edge{};
  std::size_t number = 1;
  ASSERT_CUDA(cuGraphGetEdges(captured, &from, &to, &edge, &number));
  EXPECT_EQ(edge.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  run(instantiate(captured));
  EXPECT_EQ(first(), 7);
}

TEST_F(Capture, PriorityOfTheStreamBecomesThatOfTheNode) {
  CUstream urgent = nullptr;
  ASSERT_CUDA(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -2));
  ASSERT_CUDA(cuStreamBeginCapture(urgent, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(launch("add_to", data, count, 1, urgent));
  CUgraph captured = nullptr;
  ASSERT_CUDA(cuStreamEndCapture(urgent, &captured));
  CUkernelNodeAttrValue value{};
  ASSERT_CUDA(cuGraphKernelNodeGetAttribute(nodes_of(captured)[0], CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  EXPECT_EQ(value.priority, -2);
}

}  // namespace
