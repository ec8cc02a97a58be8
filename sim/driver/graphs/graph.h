// Graphs as the application builds or captures them: nodes, each with a command, and the edges between them. Made by
// the graph API on host threads and by capture under the engine's lock; like the real ones, one graph is not for two
// threads at once. Nothing here runs anything: program.h turns a graph into what the engine executes.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/command.h"

namespace simgpu {

struct Graph;

// The work of a node.
struct NodeBody {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Command command;
  std::shared_ptr<Graph> child;  // of a child graph node
  int priority = 0;              // of a kernel node; counts if the graph is instantiated to use it
  CUcontext context = nullptr;   // of a kernel, copy or set node: what it runs in
  bool is_green = false;         // that context
  bool by_kernel = false;        // of a kernel node: described with `kern`, not with `func`
  SmShare share;                 // of that context
};

struct Node {
  Node(Graph& in, NodeBody what) : graph(&in), body(std::move(what)) {}

  Graph* graph;
  NodeBody body;
  bool enabled = true;  // in executable graphs
  std::vector<Node*> dependencies;
  std::vector<Node*> dependents;
  std::map<const Node*, CUgraphEdgeData> edge_data;  // of the dependencies whose data are not all zero
  const Node* original = nullptr;  // in a clone: what it is the copy of
};

struct Graph {
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Null when there are too many nodes.
  Node* add(NodeBody body, const std::vector<Node*>& dependencies);
  void remove(Node& node);
  [[nodiscard]] std::shared_ptr<Graph> clone() const;
  [[nodiscard]] bool has_cycle() const;

  std::vector<Node*> nodes;  // in the order of their creation
};

// Edges are simple: false if it is there already, or is not there with these data. An edge that lets a node begin before
// the one ahead of it is over (a programmatic launch) keeps its data, and is run as a full dependency.
bool connect(Node& from, Node& to, const CUgraphEdgeData& data = {});
bool disconnect(Node& from, Node& to, const CUgraphEdgeData& data = {});
bool is_plain(const CUgraphEdgeData& data);
CUgraphEdgeData edge_data(const Node& from, const Node& to);

// Target of a CUgraph: the application's graph, or one that belongs to a child graph node.
struct GraphHandle {
  GraphHandle(std::shared_ptr<Graph> what, bool by_application) : graph(std::move(what)), owned(by_application) {}
  std::shared_ptr<Graph> graph;
  const bool owned;  // destroyed by the application
};

// Asking twice for the handle of a child graph gives the same one; it goes with its node.
CUgraph handle_of_child(const std::shared_ptr<Graph>& graph);
CUgraph new_handle(std::shared_ptr<Graph> graph);
bool destroy_handle(CUgraph handle);
GraphHandle* find_graph(CUgraph handle);
Node* find_node(CUgraphNode handle);
inline CUgraphNode handle_of(Node* node) {
  return reinterpret_cast<CUgraphNode>(node);
}

}  // namespace simgpu
