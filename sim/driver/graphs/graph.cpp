// Graphs, their nodes and edges; see graph.h for threads.
#include "graphs/graph.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "engine/slab.h"

namespace simgpu {
namespace {

struct ChildHandles {
  std::mutex mutex;
  std::map<const Graph*, GraphHandle*> handles;
};

ChildHandles& child_handles() {
  static auto* const instance = new ChildHandles;
  return *instance;
}

void forget_child(const Graph& graph) {
  GraphHandle* handle = nullptr;
  {
    const std::lock_guard lock(child_handles().mutex);
    const auto found = child_handles().handles.find(&graph);
    if (found == child_handles().handles.end()) return;
    handle = found->second;
    child_handles().handles.erase(found);
  }
  if (slab<GraphHandle>.retire(handle)) slab<GraphHandle>.release(handle);
}

void release_node(Node* node) {
  if (node->body.child != nullptr) forget_child(*node->body.child);
  if (slab<Node>.retire(node)) slab<Node>.release(node);
}

}  // namespace

Graph::~Graph() {
  for (Node* node : nodes) release_node(node);
}

Node* Graph::add(NodeBody body, const std::vector<Node*>& dependencies) {
  Node* const node = slab<Node>.create(*this, std::move(body));
  if (node == nullptr) return nullptr;
  nodes.push_back(node);
  for (Node* dependency : dependencies) connect(*dependency, *node);
  return node;
}

void Graph::remove(Node& node) {
  for (Node* dependency : node.dependencies) std::erase(dependency->dependents, &node);
  for (Node* dependent : node.dependents) {
    std::erase(dependent->dependencies, &node);
    dependent->edge_data.erase(&node);
  }
  std::erase(nodes, &node);
  release_node(&node);
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const Node* node : nodes) {
    NodeBody body = node->body;
    if (body.child != nullptr) body.child = body.child->clone();
    Node* const added = copy->add(std::move(body), {});
    if (added == nullptr) return nullptr;
    added->enabled = node->enabled;
    added->original = node;
    copies.emplace(node, added);
  }
  for (const Node* node : nodes)
    for (const Node* dependency : node->dependencies)
      connect(*copies.at(dependency), *copies.at(node), edge_data(*dependency, *node));
  return copy;
}

bool Graph::has_cycle() const {
  std::unordered_map<const Node*, std::size_t> waiting;
  std::vector<const Node*> free;
  for (const Node* node : nodes) {
    waiting[node] = node->dependencies.size();
    if (node->dependencies.empty()) free.push_back(node);
  }
  std::size_t reached = 0;
  while (!free.empty()) {
    const Node* const node = free.back();
    free.pop_back();
    ++reached;
    for (const Node* dependent : node->dependents)
      if (--waiting[dependent] == 0) free.push_back(dependent);
  }
  return reached != nodes.size();
}

bool is_plain(const CUgraphEdgeData& data) {
  return data.from_port == 0 && data.to_port == 0 && data.type == 0;
}

CUgraphEdgeData edge_data(const Node& from, const Node& to) {
  const auto found = to.edge_data.find(&from);
  return found == to.edge_data.end() ? CUgraphEdgeData{} : found->second;
}

bool connect(Node& from, Node& to, const CUgraphEdgeData& data) {
  if (std::find(to.dependencies.begin(), to.dependencies.end(), &from) != to.dependencies.end()) return false;
  to.dependencies.push_back(&from);
  from.dependents.push_back(&to);
  if (!is_plain(data)) to.edge_data.emplace(&from, data);
  return true;
}

bool disconnect(Node& from, Node& to, const CUgraphEdgeData& data) {
  const CUgraphEdgeData there = edge_data(from, to);
  const bool same = there.from_port == data.from_port && there.to_port == data.to_port && there.type == data.type;
  if (!same || std::erase(to.dependencies, &from) == 0) return false;
  std::erase(from.dependents, &to);
  to.edge_data.erase(&from);
  return true;
}

CUgraph handle_of_child(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(child_handles().mutex);
  GraphHandle*& handle = child_handles().handles[graph.get()];
  if (handle == nullptr) {
    // The node owns the graph: a handle that did too would keep both alive.
    handle = slab<GraphHandle>.create(std::shared_ptr<Graph>(std::shared_ptr<Graph>(), graph.get()), false);
  }
  return reinterpret_cast<CUgraph>(handle);
}

CUgraph new_handle(std::shared_ptr<Graph> graph) {
  return reinterpret_cast<CUgraph>(slab<GraphHandle>.create(std::move(graph), true));
}

bool destroy_handle(CUgraph handle) {
  GraphHandle* const found = find_graph(handle);
  if (found == nullptr || !found->owned || !slab<GraphHandle>.retire(found)) return false;
  slab<GraphHandle>.release(found);
  return true;
}

GraphHandle* find_graph(CUgraph handle) {
  return slab<GraphHandle>.find(handle);
}

Node* find_node(CUgraphNode handle) {
  return slab<Node>.find(handle);
}

}  // namespace simgpu
