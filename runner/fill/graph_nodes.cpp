// See graph_nodes.h.
#include "runner/fill/graph_nodes.h"

#include <map>
#include <string>
#include <utility>

#include "runner/core/scopes.h"
#include "runner/fill/node_order.h"

namespace weft {
namespace {

std::vector<CUgraphNode> nodes_in_order(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  check(driver, driver.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) check(driver, driver.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  std::map<CUgraphNode, std::size_t> index;
  for (std::size_t node = 0; node < nodes.size(); ++node) index[nodes[node]] = node;

  std::size_t edge_count = 0;
  check(driver, driver.cuGraphGetEdges(graph, nullptr, nullptr, &edge_count), "cuGraphGetEdges");
  std::vector<CUgraphNode> from(edge_count), to(edge_count);
  if (edge_count != 0)
    check(driver, driver.cuGraphGetEdges(graph, from.data(), to.data(), &edge_count), "cuGraphGetEdges");
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t edge = 0; edge < edge_count; ++edge) edges.emplace_back(index.at(from[edge]), index.at(to[edge]));

  const auto order = topological_order(nodes.size(), edges);
  if (!order) throw SetUpError("the graph of the unit has a cycle");
  std::vector<CUgraphNode> ordered;
  for (const std::size_t node : *order) ordered.push_back(nodes[node]);
  return ordered;
}

const char* refusal_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return "a host function";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "a memory allocation";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "a memory release";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "a conditional node";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "a child graph";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "a wait for an event";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "an event record";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "a stream memory operation";
    default:
      return "a node of an unknown kind";
  }
}

void check_blocks(const Driver& driver, CUgraphNode node, std::size_t number, std::uint32_t max_blocks) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(driver, driver.cuGraphKernelNodeGetParams_v2(node, &parameters), "cuGraphKernelNodeGetParams");
  const std::uint64_t blocks = std::uint64_t{parameters.gridDimX} * parameters.gridDimY * parameters.gridDimZ;
  if (blocks > max_blocks)
    throw SetUpError("kernel " + std::to_string(number) + " of the unit has " + std::to_string(blocks) +
                     " thread blocks, more than the " + std::to_string(max_blocks) +
                     " that WEFT_RESERVE_SMS leaves to fill work");
}

}  // namespace

std::vector<CUgraphNode> work_nodes(const Driver& driver, CUgraph graph, std::uint32_t max_blocks) {
  std::vector<CUgraphNode> work;
  for (const CUgraphNode node : nodes_in_order(driver, graph)) {
    CUgraphNodeType type{};
    check(driver, driver.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
    if (type == CU_GRAPH_NODE_TYPE_EMPTY) continue;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL)
      check_blocks(driver, node, work.size() + 1, max_blocks);
    else if (type != CU_GRAPH_NODE_TYPE_MEMCPY && type != CU_GRAPH_NODE_TYPE_MEMSET)
      throw SetUpError(std::string("the unit contains ") + refusal_of(type) + ", which cannot be sliced");
    work.push_back(node);
  }
  if (work.empty()) throw SetUpError("the unit contains no work");
  return work;
}

namespace {

CUgraphNode append(const Driver& driver, CUgraph graph, CUgraphNode previous, CUgraphNode source, CUcontext context) {
  CUgraphNodeType type{};
  CUgraphNode added = nullptr;
  const std::size_t count = previous == nullptr ? 0 : 1;
  check(driver, driver.cuGraphNodeGetType(source, &type), "cuGraphNodeGetType");
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(driver, driver.cuGraphKernelNodeGetParams_v2(source, &parameters), "cuGraphKernelNodeGetParams");
    check(driver, driver.cuGraphAddKernelNode_v2(&added, graph, &previous, count, &parameters), "cuGraphAddKernelNode");
    check(driver, driver.cuGraphKernelNodeCopyAttributes(added, source), "cuGraphKernelNodeCopyAttributes");
  } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D parameters{};
    check(driver, driver.cuGraphMemcpyNodeGetParams(source, &parameters), "cuGraphMemcpyNodeGetParams");
    check(driver, driver.cuGraphAddMemcpyNode(&added, graph, &previous, count, &parameters, context),
          "cuGraphAddMemcpyNode");
  } else {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    check(driver, driver.cuGraphMemsetNodeGetParams(source, &parameters), "cuGraphMemsetNodeGetParams");
    check(driver, driver.cuGraphAddMemsetNode(&added, graph, &previous, count, &parameters, context),
          "cuGraphAddMemsetNode");
  }
  return added;
}

}  // namespace

CUgraphExec instantiate(const Driver& driver, std::span<const CUgraphNode> nodes, CUstream stream) {
  const CUcontext context = context_of(driver, stream);
  const CurrentContext current(driver, context);
  if (!current.pushed()) throw SetUpError("the context of the fill stream cannot be used");
  Graph graph(driver);
  check(driver, driver.cuGraphCreate(graph.out(), 0), "cuGraphCreate");
  CUgraphNode previous = nullptr;
  for (const CUgraphNode node : nodes) previous = append(driver, graph.get(), previous, node, context);
  CUgraphExec executable = nullptr;
  check(driver, driver.cuGraphInstantiateWithFlags(&executable, graph.get(), 0), "cuGraphInstantiate");
  const CUresult uploaded = driver.cuGraphUpload(executable, stream);
  if (uploaded != CUDA_SUCCESS) driver.cuGraphExecDestroy(executable);
  check(driver, uploaded, "cuGraphUpload");
  return executable;
}

}  // namespace weft
