// The nodes of a captured unit: their order, which of them can be sliced, and graphs made anew from some of them.
//
// Used while a fill job is prepared, on a thread of the main job or in the fill probe, with the context current. All
// functions throw SetUpError.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

#include "runner/core/driver.h"

namespace weft {

// A graph that is destroyed with its scope.
class Graph {
 public:
  explicit Graph(const Driver& driver, CUgraph graph = nullptr) : driver_(driver), graph_(graph) {}
  ~Graph() {
    if (graph_ != nullptr) driver_.cuGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  CUgraph get() const { return graph_; }
  CUgraph* out() { return &graph_; }

 private:
  const Driver& driver_;
  CUgraph graph_;
};

// The nodes that do work, in an order that keeps the edges. Refuses kinds of nodes that cannot be sliced, and kernels
// of more than `max_blocks` blocks.
std::vector<CUgraphNode> work_nodes(const Driver& driver, CUgraph graph, std::uint32_t max_blocks);

// One linear graph of these nodes, instantiated and uploaded. The caller destroys it.
CUgraphExec instantiate(const Driver& driver, std::span<const CUgraphNode> nodes, CUstream stream);

}  // namespace weft
