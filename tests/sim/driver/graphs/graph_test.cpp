// Graphs built by hand: nodes of every kind, edges, clones, parameters read back and changed.
#include "graph_test.h"

#include <utility>

namespace {

using Graphs = GraphTest;

TEST_F(Graphs, NodesRunInTheOrderOfTheirEdges) {
  const CUgraphNode first_node = kernel("add_to", 2);
  const CUgraphNode second_node = kernel("multiply", 10, {first_node});
  kernel("add_to", 5, {second_node});
  const CUgraphExec executable = instantiate(graph);
  run(executable);
  EXPECT_EQ(first(), 35);
  run(executable);
  EXPECT_EQ(first(), 375);
  EXPECT_CUDA(cuGraphExecDestroy(executable));
  EXPECT_EQ(cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, StructureIsReadBack) {
  const CUgraphNode a = kernel("add_to", 1);
  const CUgraphNode b = kernel("add_to", 1, {a});
  const CUgraphNode c = kernel("add_to", 1, {a});
  CUgraphNode d = nullptr;
  const CUgraphNode both[] = {b, c};
  ASSERT_CUDA(cuGraphAddEmptyNode(&d, graph, both, 2));
  EXPECT_EQ(node_count(graph), 4U);
  EXPECT_EQ(edge_count(graph), 4U);
  CUgraphNode roots[3] = {};
  std::size_t number = 3;
  ASSERT_CUDA(cuGraphGetRootNodes(graph, roots, &number));
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(roots[0], a);
  EXPECT_EQ(roots[1], nullptr);
  CUgraphNode from[4];
  CUgraphNode to[4];
  number = 4;
  ASSERT_CUDA(cuGraphGetEdges(graph, from, to, nullptr, &number));
  EXPECT_EQ(number, 4U);
  EXPECT_EQ(from[0], a);
  EXPECT_EQ(to[0], b);
  number = 2;
  CUgraphNode dependencies[2];
  ASSERT_CUDA(cuGraphNodeGetDependencies(d, dependencies, nullptr, &number));
  EXPECT_EQ(number, 2U);
  EXPECT_EQ(dependencies[1], c);
  ASSERT_CUDA(cuGraphNodeGetDependentNodes(a, nullptr, nullptr, &number));
  EXPECT_EQ(number, 2U);
  ASSERT_CUDA(cuGraphRemoveDependencies(graph, &b, &d, nullptr, 1));
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &b, &d, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(edge_count(graph), 3U);
  ASSERT_CUDA(cuGraphDestroyNode(c));
  EXPECT_EQ(edge_count(graph), 1U);
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(c, &type), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, EdgesKeepTheirDataAndAreNotReadBackWithout) {
  const CUgraphNode a = kernel("add_to", 2), b = kernel("multiply", 10), c = kernel("add_to", 1, {b});
  CUgraphEdgeData early{};
  early.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  early.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  ASSERT_CUDA(cuGraphAddDependencies(graph, &a, &b, &early, 1));
  CUgraphNode from[2] = {}, to[2] = {}, found = nullptr;
  CUgraphEdgeData found_data[2] = {};
  std::size_t number = 2;
  EXPECT_EQ(cuGraphGetEdges(graph, from, to, nullptr, &number), CUDA_ERROR_LOSSY_QUERY);
  ASSERT_CUDA(cuGraphGetEdges(graph, from, to, found_data, &number));
  EXPECT_EQ(found_data[0].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(found_data[1].type, 0);
  number = 1;
  EXPECT_EQ(cuGraphNodeGetDependencies(b, &found, nullptr, &number), CUDA_ERROR_LOSSY_QUERY);
  ASSERT_CUDA(cuGraphNodeGetDependentNodes(a, &found, found_data, &number));
  EXPECT_EQ(found_data[0].from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  EXPECT_EQ(edge_count(graph), 2U);
  CUgraph copy = nullptr;
  ASSERT_CUDA(cuGraphClone(&copy, graph));
  number = 2;
  EXPECT_EQ(cuGraphGetEdges(copy, from, to, nullptr, &number), CUDA_ERROR_LOSSY_QUERY);
  run(instantiate(graph));
  EXPECT_EQ(first(), 31);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(cuGraphRemoveDependencies(graph, &a, &b, &early, 1));
  CUgraphNode empty = nullptr;
  ASSERT_CUDA(cuGraphAddEmptyNode(&empty, graph, nullptr, 0));
  EXPECT_EQ(cuGraphAddDependencies(graph, &c, &empty, &early, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ACycleCannotBeInstantiated) {
  const CUgraphNode a = kernel("add_to", 1);
  const CUgraphNode b = kernel("add_to", 1, {a});
  ASSERT_CUDA(cuGraphAddDependencies(graph, &b, &a, nullptr, 1));
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithParams(&executable, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
}

TEST_F(Graphs, CopiesSetsAndHostFunctions) {
  static int host_value;
  host_value = 0;
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = data;
  set.value = 9;
  set.elementSize = 4;
  set.width = count;
  set.height = 1;
  CUgraphNode set_node = nullptr;
  ASSERT_CUDA(cuGraphAddMemsetNode(&set_node, graph, nullptr, 0, &set, context));
  int result[count] = {};
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = data;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = result;
  copy.WidthInBytes = sizeof(result);
  copy.Height = 1;
  copy.Depth = 1;
  CUgraphNode copy_node = nullptr;
  ASSERT_CUDA(cuGraphAddMemcpyNode(&copy_node, graph, &set_node, 1, &copy, context));
  CUDA_HOST_NODE_PARAMS host{};
  host.fn = [](void* value) { host_value = *static_cast<int*>(value); };
  host.userData = &result[3];
  CUgraphNode host_node = nullptr;
  ASSERT_CUDA(cuGraphAddHostNode(&host_node, graph, &copy_node, 1, &host));
  run(instantiate(graph));
  EXPECT_EQ(host_value, 9);

  CUDA_MEMSET_NODE_PARAMS found_set{};
  ASSERT_CUDA(cuGraphMemsetNodeGetParams(set_node, &found_set));
  EXPECT_EQ(found_set.dst, data);
  EXPECT_EQ(found_set.value, 9U);
  EXPECT_EQ(found_set.width, std::size_t{count});
  CUDA_MEMCPY3D found_copy{};
  ASSERT_CUDA(cuGraphMemcpyNodeGetParams(copy_node, &found_copy));
  EXPECT_EQ(found_copy.srcDevice, data);
  EXPECT_EQ(found_copy.dstHost, result);
  EXPECT_EQ(found_copy.WidthInBytes, sizeof(result));
  CUDA_HOST_NODE_PARAMS found_host{};
  ASSERT_CUDA(cuGraphHostNodeGetParams(host_node, &found_host));
  EXPECT_EQ(found_host.userData, &result[3]);
  EXPECT_EQ(cuGraphHostNodeGetParams(copy_node, &found_host), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, KernelParametersAreCopiesThatCanBeReadAndChanged) {
  const CUgraphNode node = kernel("add_to", 4);
  CUDA_KERNEL_NODE_PARAMS found{};
  ASSERT_CUDA(cuGraphKernelNodeGetParams(node, &found));
  EXPECT_EQ(found.func, function("add_to"));
  EXPECT_EQ(found.gridDimX, 2U);
  ASSERT_NE(found.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<int*>(found.kernelParams[2]), 4);
  int other = 40;
  void* parameters[] = {found.kernelParams[0], found.kernelParams[1], &other};
  CUDA_KERNEL_NODE_PARAMS changed = found;
  changed.kernelParams = parameters;
  ASSERT_CUDA(cuGraphKernelNodeSetParams(node, &changed));
  other = 0;
  run(instantiate(graph));
  EXPECT_EQ(first(), 41);
  changed.blockDimX = 4096;
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &changed), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, AttributesOfKernelNodes) {
  const CUgraphNode a = kernel("add_to", 1);
  const CUgraphNode b = kernel("add_to", 1);
  CUkernelNodeAttrValue value{};
  value.priority = -3;
  ASSERT_CUDA(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  ASSERT_CUDA(cuGraphKernelNodeCopyAttributes(b, a));
  CUkernelNodeAttrValue found{};
  ASSERT_CUDA(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found));
  EXPECT_EQ(found.priority, -3);
}

TEST_F(Graphs, ChildGraphsRunInsideTheirParent) {
  CUgraph child = nullptr;
  ASSERT_CUDA(cuGraphCreate(&child, 0));
  std::swap(graph, child);
  const CUgraphNode inner = kernel("add_to", 1);
  kernel("multiply", 3, {inner});
  std::swap(graph, child);
  const CUgraphNode before = kernel("add_to", 4);
  CUgraphNode node = nullptr;
  ASSERT_CUDA(cuGraphAddChildGraphNode(&node, graph, &before, 1, child));
  kernel("add_to", 100, {node});
  EXPECT_CUDA(cuGraphDestroy(child));
  run(instantiate(graph));
  EXPECT_EQ(first(), 118);
  CUgraph inside = nullptr;
  ASSERT_CUDA(cuGraphChildGraphNodeGetGraph(node, &inside));
  EXPECT_EQ(node_count(inside), 2U);
  EXPECT_EQ(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ClonesAreIndependent) {
  const CUgraphNode a = kernel("add_to", 1);
  kernel("multiply", 2, {a});
  CUgraph copy = nullptr;
  ASSERT_CUDA(cuGraphClone(&copy, graph));
  CUgraphNode in_copy = nullptr;
  ASSERT_CUDA(cuGraphNodeFindInClone(&in_copy, a, copy));
  EXPECT_NE(in_copy, a);
  ASSERT_CUDA(cuGraphDestroyNode(in_copy));
  EXPECT_EQ(node_count(graph), 2U);
  EXPECT_EQ(node_count(copy), 1U);
  ASSERT_CUDA(cuGraphDestroy(copy));
  EXPECT_EQ(cuGraphDestroy(copy), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, EventsAndMemoryOperationsInGraphs) {
  CUevent event = nullptr;
  ASSERT_CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUgraphNode before = kernel("add_to", 1);
  CUgraphNode record = nullptr;
  ASSERT_CUDA(cuGraphAddEventRecordNode(&record, graph, &before, 1, event));
  CUevent found = nullptr;
  ASSERT_CUDA(cuGraphEventRecordNodeGetEvent(record, &found));
  EXPECT_EQ(found, event);
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = data;
  operations[0].writeValue.value = 1234;
  operations[1].operation = CU_STREAM_MEM_OP_BARRIER;
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{};
  batch.ctx = context;
  batch.count = 2;
  batch.paramArray = operations;
  CUgraphNode write = nullptr;
  ASSERT_CUDA(cuGraphAddBatchMemOpNode(&write, graph, &record, 1, &batch));
  run(instantiate(graph));
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(first(), 1234);
}

TEST_F(Graphs, TheGeneralFormAddsNodesToo) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  int value = 6;
  void* values[] = {&data, &size, &value};
  parameters.kernel.func = function("add_to");
  parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
  parameters.kernel.blockDimX = 32;
  parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
  parameters.kernel.kernelParams = values;
  CUgraphNode node = nullptr;
  ASSERT_CUDA(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
  EXPECT_EQ(type_of(node), CU_GRAPH_NODE_TYPE_KERNEL);
  value = 60;
  ASSERT_CUDA(cuGraphNodeSetParams(node, &parameters));
  run(instantiate(graph));
  EXPECT_EQ(first(), 61);
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Graphs, BadHandlesAreRefused) {
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, reinterpret_cast<CUgraph>(&node), nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  CUgraph other = nullptr;
  ASSERT_CUDA(cuGraphCreate(&other, 0));
  CUgraphNode elsewhere = nullptr;
  ASSERT_CUDA(cuGraphAddEmptyNode(&elsewhere, other, nullptr, 0));
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, &elsewhere, 1), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
