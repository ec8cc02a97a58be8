// Graphs of the main job of which something is known: NCCL operations that were captured into them, and events that
// their nodes wait for or record. From there the note goes where the graph goes: into its clone, the graph it becomes a
// part of, the graph whose node it is the body of, and what is instantiated from it.
//
// Hooks on the main job's threads: a table of fixed size, no lock. Where it is full, or a capture does not say what it
// captures into, every graph that is launched from then on may hold operations. Not seen: a capture into the graph of a
// child node.
#pragma once

#include <atomic>

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

struct Stream;

// Events by their handles. One more than fits is known to be there, no more.
class EventSet {
 public:
  void add(std::uint64_t event) noexcept;
  void add(const EventSet& more) noexcept;
  void clear() noexcept;
  bool any() const noexcept { return event_[0].load(std::memory_order_acquire) != 0; }
  bool has_more() const noexcept { return has_more_.load(std::memory_order_relaxed); }
  template <class Visit>
  void visit(Visit visit) const noexcept {
    for (const auto& event : event_)
      if (const std::uint64_t handle = event.load(std::memory_order_acquire)) visit(reinterpret_cast<CUevent>(handle));
  }

 private:
  static constexpr std::uint32_t most = 8;
  std::atomic<std::uint64_t> event_[most];
  std::atomic<bool> has_more_;
};

// A graph or an executable one.
struct NotedGraph {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> whole;  // it is the body of a node of this one; 0: of none
  // NCCL operations. The signature is 0 where it holds none.
  std::atomic<std::uint64_t> signature;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint32_t> sends, receives, collectives;
  std::atomic<CommunicatorId> communicator;  // of the first operation
  EventSet waits, records;
  std::atomic<std::uint64_t> head;  // the event that all of it waits for first; 0: none is known
  std::atomic<bool> is_executable;  // made by an instantiation
  std::atomic<bool> has_bodies;
};

[[gnu::visibility("hidden")]] extern std::atomic<bool> graphs_are_noted;
// Nothing of a graph is of interest before that.
[[gnu::always_inline]] inline bool any_noted_graph() noexcept {
  return graphs_are_noted.load(std::memory_order_relaxed);
}

std::uint64_t key_of_graph(const void* graph) noexcept;
// An executable graph waits for the event before all else. Looks at all graphs where one waits for anything so.
bool is_head_of_any(std::uint64_t event) noexcept;
// It is not known any more for what the graph waits first.
void forget_head(NotedGraph& graph) noexcept;
NotedGraph* find_graph(const void* graph) noexcept;   // nullptr: nothing is known of it
NotedGraph* claim_graph(const void* graph) noexcept;  // nullptr: the table is full
inline bool holds_operations(const NotedGraph* graph) noexcept {
  return graph != nullptr && graph->signature.load(std::memory_order_acquire) != 0;
}
void add_operations(NotedGraph& to, CommunicatorId communicator, const GroupSummary& more) noexcept;
GroupSummary operations_of(const NotedGraph& graph) noexcept;

// From now on each graph may hold operations.
void suspect_all_graphs() noexcept;
bool all_graphs_are_suspect() noexcept;

// The graphs that are not executable ones; the first one behind nullptr, nullptr behind the last one.
NotedGraph* next_graph(NotedGraph* graph) noexcept;
template <class Visit>
void visit_graphs(Visit visit) noexcept {
  for (NotedGraph* graph = next_graph(nullptr); graph != nullptr; graph = next_graph(graph)) visit(*graph);
}

// Changes a graph and those that it is a body of.
template <class Change>
void change_graph(const void* graph, Change change) noexcept {
  constexpr int deepest = 16;
  std::uint64_t key = key_of_graph(graph);
  for (int depth = 0; depth < deepest && key != 0; ++depth) {
    NotedGraph* noted = claim_graph(reinterpret_cast<const void*>(key));
    if (noted == nullptr) return;
    change(*noted);
    key = noted->whole.load(std::memory_order_acquire);
  }
  if (key != 0) suspect_all_graphs();
}

// Where the stream captures into. False: it does not capture. `graph` stays nullptr where that cannot be told.
bool captures_into(CUstream stream, CUgraph* graph) noexcept;

// A clone is what `graph` is, and nothing that it was before; so is an executable graph.
void graph_made_of(const void* made, CUgraph graph) noexcept;
void executable_made_of(CUgraphExec made, CUgraph graph) noexcept;
// `graph` or an executable one holds `child` as well.
void graph_contains(const void* graph, const void* child) noexcept;
void graph_gone(const void* graph) noexcept;
// The body of a node of `graph`, still empty.
void graph_has_body(const void* graph, CUgraph body) noexcept;

}  // namespace weft
