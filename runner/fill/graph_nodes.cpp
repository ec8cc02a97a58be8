// See graph_nodes.h.
#include "runner/fill/graph_nodes.h"

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "runner/core/scopes.h"
#include "runner/fill/node_order.h"

namespace weft {
namespace {

using Edges = std::vector<std::pair<CUgraphNode, CUgraphNode>>;

// Edges may have data, of how early their end may begin. They do not matter, as the nodes are run one behind the other;
// without room for them the driver refuses to list such edges. Drivers before 12.3 have none.
Edges edges_of(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  const bool with_data = driver.cuGraphGetEdges_v2 != nullptr;
  check(driver,
        with_data ? driver.cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count)
                  : driver.cuGraphGetEdges(graph, nullptr, nullptr, &count),
        "cuGraphGetEdges");
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> data(count);
  if (count != 0)
    check(driver,
          with_data ? driver.cuGraphGetEdges_v2(graph, from.data(), to.data(), data.data(), &count)
                    : driver.cuGraphGetEdges(graph, from.data(), to.data(), &count),
          "cuGraphGetEdges");
  Edges edges;
  for (std::size_t edge = 0; edge < count; ++edge) edges.emplace_back(from[edge], to[edge]);
  return edges;
}

std::vector<CUgraphNode> nodes_in_order(const Driver& driver, CUgraph graph) {
  std::size_t count = 0;
  check(driver, driver.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) check(driver, driver.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  std::map<CUgraphNode, std::size_t> index;
  for (std::size_t node = 0; node < nodes.size(); ++node) index[nodes[node]] = node;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (const auto& [from, to] : edges_of(driver, graph)) edges.emplace_back(index.at(from), index.at(to));
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
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "a wait for an event";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "a stream memory operation";
    default:
      return "a node of an unknown kind";
  }
}

CUDA_KERNEL_NODE_PARAMS parameters_of(const Driver& driver, CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(driver, driver.cuGraphKernelNodeGetParams_v2(node, &parameters), "cuGraphKernelNodeGetParams");
  return parameters;
}

// The handle of a kernel that belongs to no context. A launch may name it where a function is asked for, as the runtime
// does, and the node then names it so, too: the driver knows which of the two a handle is.
CUkernel kernel_of(const Driver& driver, const CUDA_KERNEL_NODE_PARAMS& parameters) {
  if (parameters.func == nullptr) return parameters.kern;
  const auto kernel = reinterpret_cast<CUkernel>(parameters.func);
  const char* name = nullptr;
  const bool is_kernel = driver.cuKernelGetName != nullptr && driver.cuKernelGetName(&name, kernel) == CUDA_SUCCESS;
  return is_kernel && name != nullptr ? kernel : nullptr;
}

WorkNode described(const Driver& driver, CUgraphNode node, CUgraphNodeType type) {
  if (type != CU_GRAPH_NODE_TYPE_KERNEL) return {node, type};
  const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(driver, node);
  return {node, type, std::uint64_t{parameters.gridDimX} * parameters.gridDimY * parameters.gridDimZ,
          kernel_of(driver, parameters)};
}

void add_work(const Driver& driver, CUgraph graph, std::vector<WorkNode>& work) {
  for (const CUgraphNode node : nodes_in_order(driver, graph)) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    check(driver, driver.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
    switch (type) {
      case CU_GRAPH_NODE_TYPE_EMPTY:
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:  // nobody can wait for it between two slices
        break;
      case CU_GRAPH_NODE_TYPE_GRAPH:
        check(driver, driver.cuGraphChildGraphNodeGetGraph(node, &child), "cuGraphChildGraphNodeGetGraph");
        add_work(driver, child, work);
        break;
      case CU_GRAPH_NODE_TYPE_KERNEL:
      case CU_GRAPH_NODE_TYPE_MEMCPY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
        work.push_back(described(driver, node, type));
        break;
      default:
        throw SetUpError(std::string("the unit contains ") + refusal_of(type) + ", which cannot be sliced");
    }
  }
}

}  // namespace

std::vector<WorkNode> work_nodes(const Driver& driver, CUgraph graph) {
  std::vector<WorkNode> work;
  add_work(driver, graph, work);
  if (work.empty()) throw SetUpError("the unit contains no work");
  return work;
}

namespace {

// Into another context one by one: the driver copies all of them only within one. An attribute that it does not know is
// not there to be lost, and one that the new node has already needs no change. The priority is left out, as all fill
// work has that of its stream.
void move_attributes(const Driver& driver, CUgraphNode from, CUgraphNode to) {
  constexpr std::array attributes{
      CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,        CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
      CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,           CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
      CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,         CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
      CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
  for (const CUlaunchAttributeID attribute : attributes) {
    CUlaunchAttributeValue wanted{}, there{};
    if (driver.cuGraphKernelNodeGetAttribute(from, attribute, &wanted) != CUDA_SUCCESS) continue;
    const bool known = driver.cuGraphKernelNodeGetAttribute(to, attribute, &there) == CUDA_SUCCESS;
    if (known && std::memcmp(&wanted, &there, sizeof wanted) == 0) continue;
    check(driver, driver.cuGraphKernelNodeSetAttribute(to, attribute, &wanted), "cuGraphKernelNodeSetAttribute");
  }
}

// Where the next node of a linear graph stands.
struct Place {
  CUgraph graph;
  CUgraphNode previous;
  CUcontext context;  // of copies and sets
  CUcontext share;    // of kernels; nullptr: theirs

  const CUgraphNode* dependencies() const { return previous == nullptr ? nullptr : &previous; }
  std::size_t count() const { return previous == nullptr ? 0 : 1; }
};

CUgraphNode append_kernel(const Driver& driver, const Place& place, const WorkNode& source) {
  CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(driver, source.node);
  CUgraphNode added = nullptr;
  if (place.share != nullptr) {
    parameters.func = nullptr;
    parameters.kern = source.kernel;
    parameters.ctx = place.share;
  }
  check(driver, driver.cuGraphAddKernelNode_v2(&added, place.graph, place.dependencies(), place.count(), &parameters),
        "cuGraphAddKernelNode");
  if (place.share != nullptr)
    move_attributes(driver, source.node, added);
  else
    check(driver, driver.cuGraphKernelNodeCopyAttributes(added, source.node), "cuGraphKernelNodeCopyAttributes");
  return added;
}

CUgraphNode append(const Driver& driver, const Place& place, const WorkNode& source) {
  if (source.type == CU_GRAPH_NODE_TYPE_KERNEL) return append_kernel(driver, place, source);
  CUgraphNode added = nullptr;
  if (source.type == CU_GRAPH_NODE_TYPE_MEMCPY) {
    CUDA_MEMCPY3D parameters{};
    check(driver, driver.cuGraphMemcpyNodeGetParams(source.node, &parameters), "cuGraphMemcpyNodeGetParams");
    check(driver,
          driver.cuGraphAddMemcpyNode(&added, place.graph, place.dependencies(), place.count(), &parameters,
                                      place.context),
          "cuGraphAddMemcpyNode");
  } else {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    check(driver, driver.cuGraphMemsetNodeGetParams(source.node, &parameters), "cuGraphMemsetNodeGetParams");
    check(driver,
          driver.cuGraphAddMemsetNode(&added, place.graph, place.dependencies(), place.count(), &parameters,
                                      place.context),
          "cuGraphAddMemsetNode");
  }
  return added;
}

}  // namespace

CUgraphExec instantiate(const Driver& driver, std::span<const WorkNode> nodes, CUstream stream, CUcontext share) {
  const CUcontext context = context_of(driver, stream);
  const CurrentContext current(driver, context);
  if (!current.pushed()) throw SetUpError("the context of the fill stream cannot be used");
  Graph graph(driver);
  check(driver, driver.cuGraphCreate(graph.out(), 0), "cuGraphCreate");
  Place place{graph.get(), nullptr, share != nullptr ? share : context, share};
  for (const WorkNode& node : nodes) place.previous = append(driver, place, node);
  CUgraphExec executable = nullptr;
  check(driver, driver.cuGraphInstantiateWithFlags(&executable, graph.get(), 0), "cuGraphInstantiate");
  const CUresult uploaded = driver.cuGraphUpload(executable, stream);
  if (uploaded != CUDA_SUCCESS) driver.cuGraphExecDestroy(executable);
  check(driver, uploaded, "cuGraphUpload");
  return executable;
}

}  // namespace weft
