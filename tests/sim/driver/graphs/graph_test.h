// Shared by the graph tests: an array of integers in device memory and short ways to make nodes that change it.
#pragma once

#include <vector>

#include "tests/sim/driver/device_test.h"

class GraphTest : public device_test::DeviceTest {
 protected:
  static constexpr int count = 16;

  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_CUDA(cuMemAlloc(&data, count * sizeof(int)));
    // A set of device memory does not wait, and the stream of the tests does not wait for the default stream.
    ASSERT_CUDA(cuMemsetD32(data, 1, count));
    ASSERT_CUDA(cuCtxSynchronize());
    ASSERT_CUDA(cuGraphCreate(&graph, 0));
    // Loaded before anything is captured or spinning.
    function("add_to");
    function("multiply");
  }

  CUDA_KERNEL_NODE_PARAMS kernel_parameters(const char* name, int& value, void** parameters) {
    parameters[0] = &data;
    parameters[1] = &size;
    parameters[2] = &value;
    CUDA_KERNEL_NODE_PARAMS result{};
    result.func = function(name);
    result.gridDimX = 2;
    result.gridDimY = result.gridDimZ = 1;
    result.blockDimX = 32;
    result.blockDimY = result.blockDimZ = 1;
    result.kernelParams = parameters;
    return result;
  }

  CUgraphNode kernel(const char* name, int value, const std::vector<CUgraphNode>& after = {}) {
    void* parameters[3];
    const CUDA_KERNEL_NODE_PARAMS description = kernel_parameters(name, value, parameters);
    CUgraphNode node = nullptr;
    EXPECT_CUDA(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &description));
    return node;
  }

  CUgraphExec instantiate(CUgraph from, unsigned long long flags = 0) {
    CUgraphExec executable = nullptr;
    EXPECT_CUDA(cuGraphInstantiate(&executable, from, flags));
    return executable;
  }

  void run(CUgraphExec executable) {
    ASSERT_CUDA(cuGraphLaunch(executable, stream));
    ASSERT_CUDA(cuStreamSynchronize(stream));
  }

  int first() {
    int value = 0;
    EXPECT_CUDA(cuMemcpyDtoH(&value, data, sizeof(value)));
    return value;
  }

  static std::size_t node_count(CUgraph of) {
    std::size_t nodes = 0;
    EXPECT_CUDA(cuGraphGetNodes(of, nullptr, &nodes));
    return nodes;
  }
  static std::vector<CUgraphNode> nodes_of(CUgraph of) {
    std::vector<CUgraphNode> nodes(node_count(of));
    std::size_t number = nodes.size();
    EXPECT_CUDA(cuGraphGetNodes(of, nodes.data(), &number));
    return nodes;
  }
  static std::size_t edge_count(CUgraph of) {
    std::size_t edges = 0;
    EXPECT_CUDA(cuGraphGetEdges(of, nullptr, nullptr, nullptr, &edges));
    return edges;
  }
  static CUgraphNodeType type_of(CUgraphNode node) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_CUDA(cuGraphNodeGetType(node, &type));
    return type;
  }

  CUdeviceptr data = 0;
  CUgraph graph = nullptr;
  int size = count;
};
