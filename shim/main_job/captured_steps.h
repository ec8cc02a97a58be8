// Graphs of the main job that hold NCCL operations: while one is replayed, nobody sees from outside whether it computes
// or waits in a receive. Such a launch is announced as a group with `captured` set, with markers on either side of it.
//
// Hooks on the main job's threads: a table of fixed size, no lock. An operation is noted for the graph that its stream
// captures into; from there the note goes where the graph goes: into its clone, the graph it becomes a part of, and
// what is instantiated from it. Where the table is full, or a capture does not say what it captures into, every graph
// that is launched from then on is taken for one of these. Not seen: a capture into the graph of a child node.
#pragma once

#include <atomic>

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

struct Stream;

// Operations of one communicator are captured on this stream, into whatever it captures into.
void operations_captured(const Stream& stream, CommunicatorId communicator, const GroupSummary& summary) noexcept;

[[gnu::visibility("hidden")]] extern std::atomic<bool> steps_were_captured;
// Nothing below is of interest before that.
[[gnu::always_inline]] inline bool any_captured_step() noexcept {
  return steps_were_captured.load(std::memory_order_relaxed);
}

// A clone or an executable graph is what `graph` is, and nothing that it was before.
void graph_made_of(const void* made, CUgraph graph) noexcept;
// `graph` or an executable one holds `child` as well.
void graph_contains(const void* graph, CUgraph child) noexcept;
void graph_gone(const void* graph) noexcept;
// A node has been added or changed: with the graph of a child, or with bodies of its own.
void graph_has_node(const void* graph, const CUgraphNodeParams* node) noexcept;

// Around the launch of a graph; two registers.
struct CapturedStep {
  Stream* stream;  // nullptr: nothing to note, it is a launch like any other
  Ticket done;
};
CapturedStep captured_step_begins(CUgraphExec graph, CUstream stream, bool per_thread) noexcept;
void captured_step_launched(const CapturedStep& step, bool made) noexcept;

}  // namespace weft
