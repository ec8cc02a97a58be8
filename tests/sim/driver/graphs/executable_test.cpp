// Executable graphs: changed node by node, updated as a whole, disabled nodes, launches under way.
#include "graph_test.h"

namespace {

using Executables = GraphTest;

TEST_F(Executables, ChangingANodeLeavesTheGraphAlone) {
  const CUgraphNode node = kernel("add_to", 1);
  const CUgraphExec executable = instantiate(graph);
  int value = 50;
  void* parameters[3];
  const CUDA_KERNEL_NODE_PARAMS changed = kernel_parameters("add_to", value, parameters);
  ASSERT_CUDA(cuGraphExecKernelNodeSetParams(executable, node, &changed));
  run(executable);
  EXPECT_EQ(first(), 51);
  run(instantiate(graph));
  EXPECT_EQ(first(), 52);
}

TEST_F(Executables, ALaunchUnderWayKeepsItsParameters) {
  const CUgraphNode node = kernel("add_to", 1);
  const CUgraphExec executable = instantiate(graph);
  start_spinning(stream);
  ASSERT_CUDA(cuGraphLaunch(executable, stream));
  int value = 1000;
  void* parameters[3];
  const CUDA_KERNEL_NODE_PARAMS changed = kernel_parameters("add_to", value, parameters);
  ASSERT_CUDA(cuGraphExecKernelNodeSetParams(executable, node, &changed));
  end_spinning();
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(first(), 2);
}

TEST_F(Executables, UpdateTakesTheSameShapeOnly) {
  const CUgraphNode a = kernel("add_to", 1);
  kernel("multiply", 2, {a});
  const CUgraphExec executable = instantiate(graph);
  ASSERT_CUDA(cuGraphCreate(&graph, 0));
  const CUgraphNode b = kernel("add_to", 9);
  const CUgraphNode last = kernel("multiply", 3, {b});
  CUgraphExecUpdateResultInfo info{};
  ASSERT_CUDA(cuGraphExecUpdate(executable, graph, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  run(executable);
  EXPECT_EQ(first(), 30);
  ASSERT_CUDA(cuGraphRemoveDependencies(graph, &b, &last, nullptr, 1));
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  ASSERT_CUDA(cuGraphDestroyNode(last));
  CUgraphNode empty = nullptr;
  ASSERT_CUDA(cuGraphAddEmptyNode(&empty, graph, &b, 1));
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, empty);
}

TEST_F(Executables, DisabledNodesDoNothing) {
  const CUgraphNode a = kernel("add_to", 1);
  kernel("multiply", 7, {a});
  const CUgraphExec executable = instantiate(graph);
  ASSERT_CUDA(cuGraphNodeSetEnabled(executable, a, 0));
  unsigned enabled = 1;
  ASSERT_CUDA(cuGraphNodeGetEnabled(executable, a, &enabled));
  EXPECT_EQ(enabled, 0U);
  run(executable);
  EXPECT_EQ(first(), 7);
  ASSERT_CUDA(cuGraphNodeSetEnabled(executable, a, 1));
  run(executable);
  EXPECT_EQ(first(), 56);
}

TEST_F(Executables, FlagsAndUploads) {
  kernel("add_to", 1);
  const CUgraphExec executable = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  cuuint64_t flags = 0;
  ASSERT_CUDA(cuGraphExecGetFlags(executable, &flags));
  EXPECT_EQ(flags, cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY});
  EXPECT_CUDA(cuGraphUpload(executable, stream));
  CUgraphExec none = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&none, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphInstantiate(&none, graph, 1U << 20), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Executables, TheGraphMayGoBeforeItsExecutable) {
  kernel("add_to", 1);
  const CUgraphExec executable = instantiate(graph);
  ASSERT_CUDA(cuGraphDestroy(graph));
  ASSERT_CUDA(cuGraphLaunch(executable, stream));
  ASSERT_CUDA(cuGraphExecDestroy(executable));
  ASSERT_CUDA(cuStreamSynchronize(stream));
  EXPECT_EQ(first(), 2);
}

}  // namespace
