// Launches of graphs of which something is known (noted_graphs.h): one that holds NCCL operations is announced as a
// group, one that waits for an event that communication may hold up as a wait, and events that it records stand for the
// place behind it.
//
// Around the real call, in hooks, any thread of the main job.
#pragma once

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

struct Stream;

// Two registers.
struct GraphLaunch {
  Stream* stream;  // nullptr: it has no markers around it, it is a launch like any other
  Ticket done;     // the marker behind it
};
GraphLaunch graph_launch_begins(CUgraphExec graph, CUstream stream, bool per_thread) noexcept;
// The real call is over. `made`: it has succeeded. The marker behind it alone, and with it what the graph records.
void mark_end(const GraphLaunch& launch, bool made) noexcept;
void graph_launched(CUgraphExec graph, CUstream stream, bool per_thread, const GraphLaunch& launch, bool made) noexcept;

}  // namespace weft
