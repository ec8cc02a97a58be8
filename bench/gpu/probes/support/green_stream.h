// A stream of a green context with all multiprocessors, and a graph for it made as the fill job's slices are.
//
// Called by probe one_queue on its main thread, with the context current. Nothing is given back.
#pragma once

#include <functional>

#include "gpu.h"

namespace probe {

enum class Workqueues {
  of_all_contexts,  // what every context shares
  balanced          // "where possible" not those of another balanced green context; one of them
};

// Throws Skipped, with the driver's reason, where there is no such stream. Its priority is the lowest.
CUstream make_green_stream(Workqueues workqueues);

// The kernels that `launch` puts on the stream, captured, and added to a graph of their own with the stream's context
// current (runner/fill/graph_nodes.cpp).
CUgraphExec make_slice(CUstream stream, const std::function<void()>& launch);

}  // namespace probe
