// Launches of graphs; see graph_launches.h.
#include "shim/main_job/graph_launches.h"

#include "shim/main_job/capture.h"
#include "shim/main_job/captured_steps.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/graph_events.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/quiet_gate.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

// It becomes a part of what the stream captures.
void launch_captured(const Stream& stream, CUgraphExec launched, bool is_known) noexcept {
  CUgraph graph = nullptr;
  if (!captures_into(stream.handle.load(std::memory_order_relaxed), &graph)) return;
  if (graph == nullptr) return suspect_all_graphs();
  if (is_known) return graph_contains(graph, launched);
  GroupSummary unknown{};
  unknown.signature = 1;
  operations_captured(stream, 0, unknown);
}

}  // namespace

GraphLaunch graph_launch_begins(CUgraphExec graph, CUstream stream, bool per_thread) noexcept {
  const NotedGraph* noted = find_graph(graph);
  if (noted == nullptr && !all_graphs_are_suspect()) return {};
  Stream* known = learn_stream(name_of(stream, per_thread));
  if (known == nullptr) return {};
  if (is_capturing(*known)) return launch_captured(*known, graph, noted != nullptr), GraphLaunch{};
  if (holds_operations(noted) || all_graphs_are_suspect()) {
    enter_gate();
    return announce_step(*known, holds_operations(noted) ? noted : nullptr, Captured::graph);
  }
  return announce_graph_wait(*known, *noted);
}

void mark_end(const GraphLaunch& launch, bool made) noexcept {
  if (launch.stream == nullptr) return;
  // Another thread may capture on the stream by now.
  const bool is_markable = made && !is_capturing(*launch.stream);
  if (is_markable && enqueue_marker(*launch.stream, launch.done)) return set_next_launch_noted(*launch.stream, true);
  write_ticket_from_host(launch.stream->device.load(std::memory_order_relaxed), launch.done);
  if (made) note_lost();
}

void graph_launched(CUgraphExec graph, CUstream stream, bool per_thread, const GraphLaunch& launch,
                    bool made) noexcept {
  mark_end(launch, made);
  leave_gate();
  const NotedGraph* noted = made ? find_graph(graph) : nullptr;
  if (noted != nullptr && noted->records.any()) graph_records(*noted, stream, per_thread);
}

}  // namespace weft
