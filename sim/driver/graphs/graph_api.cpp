// The driver API for the structure of graphs: creating and copying them, edges, and what nodes there are. Host threads.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "api/api.h"
#include "graphs/graph.h"

namespace simgpu {
namespace {

CUresult find(CUgraph handle, Graph*& graph) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const GraphHandle* const found = find_graph(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  graph = found->graph.get();
  return CUDA_SUCCESS;
}

CUresult find(CUgraphNode handle, Node*& node) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  node = find_node(handle);
  return node == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The convention of all these lists: without an array the count is returned, with one it is filled as far as both reach
// and the rest is null.
CUresult list(const std::vector<Node*>& nodes, CUgraphNode* out, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr)
    for (std::size_t index = 0; index < *count; ++index)
      out[index] = index < nodes.size() ? handle_of(nodes[index]) : nullptr;
  *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

using Edge = std::pair<Node*, Node*>;

// The data of edges, where there is room for them; a list without room for what there is would lose it.
CUresult list_data(const std::vector<Edge>& edges, CUgraphEdgeData* out, std::size_t count) {
  for (std::size_t index = 0; index < edges.size(); ++index) {
    const CUgraphEdgeData data = edge_data(*edges[index].first, *edges[index].second);
    if (out == nullptr && !is_plain(data)) return CUDA_ERROR_LOSSY_QUERY;
    if (out != nullptr && index < count) out[index] = data;
  }
  return CUDA_SUCCESS;
}

CUresult edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  Graph* graph = nullptr;
  if (const CUresult result = find(handle, graph); result != CUDA_SUCCESS) return result;
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (data != nullptr && from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Edge> all;
  std::vector<Node*> first;
  std::vector<Node*> second;
  for (Node* node : graph->nodes) {
    for (Node* dependent : node->dependents) {
      first.push_back(node);
      second.push_back(dependent);
      all.emplace_back(node, dependent);
    }
  }
  std::size_t room = *count;
  if (from != nullptr)
    if (const CUresult result = list_data(all, data, room); result != CUDA_SUCCESS) return result;
  if (const CUresult result = list(first, from, count); result != CUDA_SUCCESS) return result;
  return list(second, to, from == nullptr ? count : &room);
}

// Edges other than full dependencies lead from one kernel to another.
bool allowed(const Node& from, const Node& to, const CUgraphEdgeData& data) {
  return is_plain(data) || (data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && data.to_port == 0 &&
                            (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                             data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) &&
                            from.body.type == CU_GRAPH_NODE_TYPE_KERNEL && to.body.type == CU_GRAPH_NODE_TYPE_KERNEL);
}

template <class Change>
CUresult change_edges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                      std::size_t count, Change change) {
  Graph* graph = nullptr;
  if (const CUresult result = find(handle, graph); result != CUDA_SUCCESS) return result;
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t index = 0; index < count; ++index) {
    Node* const first = find_node(from[index]);
    Node* const second = find_node(to[index]);
    const bool inside = first != nullptr && second != nullptr && first->graph == graph && second->graph == graph;
    const CUgraphEdgeData edge = data == nullptr ? CUgraphEdgeData{} : data[index];
    if (!inside || first == second || !allowed(*first, *second, edge) || !change(*first, *second, edge))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult neighbours(const std::vector<Node*>& nodes, const std::vector<Edge>& edges, CUgraphNode* out,
                    CUgraphEdgeData* data, std::size_t* count) {
  if (count == nullptr || (data != nullptr && out == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr)
    if (const CUresult result = list_data(edges, data, *count); result != CUDA_SUCCESS) return result;
  return list(nodes, out, count);
}

CUresult dependencies(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
  Node* node = nullptr;
  if (const CUresult result = find(handle, node); result != CUDA_SUCCESS) return result;
  std::vector<Edge> all;
  for (Node* dependency : node->dependencies) all.emplace_back(dependency, node);
  return neighbours(node->dependencies, all, out, data, count);
}

CUresult dependents(CUgraphNode handle, CUgraphNode* out, CUgraphEdgeData* data, std::size_t* count) {
  Node* node = nullptr;
  if (const CUresult result = find(handle, node); result != CUDA_SUCCESS) return result;
  std::vector<Edge> all;
  for (Node* dependent : node->dependents) all.emplace_back(node, dependent);
  return neighbours(node->dependents, all, out, data, count);
}

}  // namespace
}  // namespace simgpu

using namespace simgpu;

SIMGPU_API cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = new_handle(std::make_shared<Graph>());
  return *phGraph == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIMGPU_API cuGraphDestroy(CUgraph hGraph) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return destroy_handle(hGraph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  Graph* graph = nullptr;
  if (const CUresult result = find(originalGraph, graph); result != CUDA_SUCCESS) return result;
  if (phGraphClone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Graph> copy = graph->clone();
  *phGraphClone = copy == nullptr ? nullptr : new_handle(std::move(copy));
  return *phGraphClone == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIMGPU_API cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  Graph* graph = nullptr;
  if (const CUresult result = find(hClonedGraph, graph); result != CUDA_SUCCESS) return result;
  const Node* const original = find_node(hOriginalNode);
  const auto copy = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                                 [original](const Node* node) { return node->original == original; });
  if (phNode == nullptr || original == nullptr || copy == graph->nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  *phNode = handle_of(*copy);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  Graph* graph = nullptr;
  if (const CUresult result = find(hGraph, graph); result != CUDA_SUCCESS) return result;
  return list(graph->nodes, nodes, numNodes);
}

SIMGPU_API cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  Graph* graph = nullptr;
  if (const CUresult result = find(hGraph, graph); result != CUDA_SUCCESS) return result;
  std::vector<Node*> roots;
  std::copy_if(graph->nodes.begin(), graph->nodes.end(), std::back_inserter(roots),
               [](const Node* node) { return node->dependencies.empty(); });
  return list(roots, rootNodes, numRootNodes);
}

SIMGPU_API cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return edges(hGraph, from, to, nullptr, numEdges);
}
SIMGPU_API cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                              size_t* numEdges) {
  return edges(hGraph, from, to, edgeData, numEdges);
}

SIMGPU_API cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* deps, size_t* numDependencies) {
  return dependencies(hNode, deps, nullptr, numDependencies);
}
SIMGPU_API cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* deps, CUgraphEdgeData* edgeData,
                                         size_t* numDependencies) {
  return dependencies(hNode, deps, edgeData, numDependencies);
}

SIMGPU_API cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* nodes, size_t* numDependentNodes) {
  return dependents(hNode, nodes, nullptr, numDependentNodes);
}
SIMGPU_API cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* nodes, CUgraphEdgeData* edgeData,
                                           size_t* numDependentNodes) {
  return dependents(hNode, nodes, edgeData, numDependentNodes);
}

SIMGPU_API cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                  size_t numDependencies) {
  return change_edges(hGraph, from, to, nullptr, numDependencies, connect);
}
SIMGPU_API cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                     const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return change_edges(hGraph, from, to, edgeData, numDependencies, connect);
}

SIMGPU_API cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                     size_t numDependencies) {
  return change_edges(hGraph, from, to, nullptr, numDependencies, disconnect);
}
SIMGPU_API cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                        const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return change_edges(hGraph, from, to, edgeData, numDependencies, disconnect);
}

SIMGPU_API cuGraphDestroyNode(CUgraphNode hNode) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, node); result != CUDA_SUCCESS) return result;
  node->graph->remove(*node);
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, node); result != CUDA_SUCCESS) return result;
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->body.type;
  return CUDA_SUCCESS;
}

SIMGPU_API cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  Node* node = nullptr;
  if (const CUresult result = find(hNode, node); result != CUDA_SUCCESS) return result;
  if (phGraph == nullptr || node->body.child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = handle_of_child(node->body.child);
  return *phGraph == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
