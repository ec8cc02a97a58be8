// The nodes of a captured unit: their order, which of them can be sliced, and graphs made anew from some of them.
//
// Used while a fill job is prepared, on a thread of Weft's or in the fill probe, with the context current. All
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

// Valid as long as the graph that it is of.
struct WorkNode {
  CUgraphNode node = nullptr;
  CUgraphNodeType type{};
  std::uint64_t blocks = 0;   // of a kernel
  CUkernel kernel = nullptr;  // which may run in any context; nullptr: it is of a module, and stays in its context
};

// The nodes that do work, in an order that keeps the edges; those of child graphs stand in the place of their graph.
// Edges that let a kernel begin before the one ahead of it is over become full ones, and records of events are left
// out. Refuses kinds of nodes that cannot be sliced.
std::vector<WorkNode> work_nodes(const Driver& driver, CUgraph graph);

// One linear graph of these nodes, instantiated and uploaded, in `share` or, where that is nullptr, in the context of
// the stream. The caller destroys it.
CUgraphExec instantiate(const Driver& driver, std::span<const WorkNode> nodes, CUstream stream, CUcontext share);

}  // namespace weft
