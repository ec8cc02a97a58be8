// Executable graphs: a private copy of the graph, and the program made from it that the engine runs. Changing a node
// makes a new program; launches that are under way keep the old one. Host threads, without the engine's lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "graphs/graph.h"

namespace simgpu {

class Executable {
 public:
  Executable(const Graph& graph, std::uint64_t flags);

  // Why there is no program: a cycle, or too many nodes.
  [[nodiscard]] CUgraphInstantiateResult result() const { return result_; }
  [[nodiscard]] std::uint64_t flags() const { return flags_; }
  [[nodiscard]] std::shared_ptr<const GraphProgram> program();
  // A copy of the graph as it is now, for a launch into a stream that is capturing.
  [[nodiscard]] std::shared_ptr<Graph> copy();

  // Replaces what a node does; the node is one of the graph that was instantiated. The kind of node cannot change.
  CUresult replace(const Node& node, NodeBody body);
  CUresult enable(const Node& node, bool enabled);
  CUresult is_enabled(const Node& node, bool& enabled);
  CUresult update(const Graph& graph, CUgraphExecUpdateResultInfo& info);
  // A kernel node's body as it is now, for changes to a part of it.
  CUresult body(const Node& node, NodeBody& body);

 private:
  Node* find(const Node& node) const;
  void index(const Graph& copy);

  const std::uint64_t flags_;
  CUgraphInstantiateResult result_ = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  std::mutex mutex_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<const Node*, Node*> copies_;  // from the nodes of the application's graph
  std::shared_ptr<const GraphProgram> program_;    // null: to be made again
};

}  // namespace simgpu
