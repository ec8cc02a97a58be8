// The table of graphs, and how notes go from one to another; see noted_graphs.h.
#include "shim/main_job/noted_graphs.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "shim/main_job/streams.h"
#include "shim/notes.h"
#include "shim/routing/real.h"
#include "shim/tables/handle_table.h"

namespace weft {
namespace {

constexpr std::uint32_t most_graphs = 8192;  // serving captures one for each batch size, or one for each layer of those

using Table = HandleTable<NotedGraph, most_graphs>;
constinit Table graphs{};
constinit std::atomic<bool> any_graph_may{false};  // hold operations
// Never fewer than graphs have a head. As a rule there is none, and every cuEventRecord would look at all places.
constinit std::atomic<std::uint32_t> heads{0};

std::uint16_t capped(std::uint32_t count) noexcept {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(count, std::numeric_limits<std::uint16_t>::max()));
}

// Counted before it is there and until after it has gone: who sees it has seen the count.
void change_head(NotedGraph& graph, std::uint64_t event) noexcept {
  if (event != 0) heads.fetch_add(1, std::memory_order_acq_rel);
  if (graph.head.exchange(event, std::memory_order_acq_rel) != 0) heads.fetch_sub(1, std::memory_order_acq_rel);
}

void forget(NotedGraph& noted) noexcept {
  noted.whole.store(0, std::memory_order_relaxed);
  noted.signature.store(0, std::memory_order_relaxed);
  noted.bytes.store(0, std::memory_order_relaxed);
  noted.sends.store(0, std::memory_order_relaxed);
  noted.receives.store(0, std::memory_order_relaxed);
  noted.collectives.store(0, std::memory_order_relaxed);
  noted.communicator.store(0, std::memory_order_relaxed);
  noted.waits.clear();
  noted.records.clear();
  forget_head(noted);
  noted.is_executable.store(false, std::memory_order_relaxed);
  noted.has_bodies.store(false, std::memory_order_relaxed);
  Table::release(noted);
}

void add_all(NotedGraph& to, const NotedGraph& more) noexcept {
  if (holds_operations(&more))
    add_operations(to, more.communicator.load(std::memory_order_relaxed), operations_of(more));
  to.waits.add(more.waits);
  to.records.add(more.records);
}

// The event of the graph's first node, where there is one such node and it is a wait; 0: it is not so.
std::uint64_t head_of(CUgraph graph) noexcept {
  std::size_t count = 0;
  if (real<Symbol::cuGraphGetRootNodes>()(graph, nullptr, &count) != CUDA_SUCCESS || count != 1) return 0;
  CUgraphNode root = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUevent event = nullptr;
  const bool waits = real<Symbol::cuGraphGetRootNodes>()(graph, &root, &count) == CUDA_SUCCESS &&
                     real<Symbol::cuGraphNodeGetType>()(root, &type) == CUDA_SUCCESS &&
                     type == CU_GRAPH_NODE_TYPE_WAIT_EVENT &&
                     real<Symbol::cuGraphEventWaitNodeGetEvent>()(root, &event) == CUDA_SUCCESS;
  return waits ? reinterpret_cast<std::uint64_t>(event) : 0;
}

}  // namespace

constinit std::atomic<bool> graphs_are_noted{false};

void EventSet::add(std::uint64_t event) noexcept {
  for (auto& slot : event_) {
    std::uint64_t there = 0;
    if (slot.compare_exchange_strong(there, event, std::memory_order_acq_rel) || there == event) return;
  }
  has_more_.store(true, std::memory_order_relaxed);
}

void EventSet::add(const EventSet& more) noexcept {
  for (const auto& event : more.event_)
    if (const std::uint64_t handle = event.load(std::memory_order_acquire)) add(handle);
  if (more.has_more()) has_more_.store(true, std::memory_order_relaxed);
}

void EventSet::clear() noexcept {
  for (auto& event : event_) event.store(0, std::memory_order_relaxed);
  has_more_.store(false, std::memory_order_relaxed);
}

std::uint64_t key_of_graph(const void* graph) noexcept {
  return reinterpret_cast<std::uint64_t>(graph);
}

NotedGraph* find_graph(const void* graph) noexcept {
  return graphs.find(key_of_graph(graph));
}

NotedGraph* claim_graph(const void* graph) noexcept {
  NotedGraph* noted = graphs.claim(key_of_graph(graph));
  if (noted != nullptr) return noted;
  note_full("captured graphs");
  suspect_all_graphs();
  return nullptr;
}

void suspect_all_graphs() noexcept {
  any_graph_may.store(true, std::memory_order_relaxed);
  graphs_are_noted.store(true, std::memory_order_release);
}

bool all_graphs_are_suspect() noexcept {
  return any_graph_may.load(std::memory_order_relaxed);
}

NotedGraph* next_graph(NotedGraph* graph) noexcept {
  for (graph = graph == nullptr ? graphs.entries : graph + 1; graph != std::end(graphs.entries); ++graph) {
    const std::uint64_t key = graph->key.load(std::memory_order_acquire);
    if (key != 0 && key != Table::released && !graph->is_executable.load(std::memory_order_relaxed)) return graph;
  }
  return nullptr;
}

void forget_head(NotedGraph& graph) noexcept {
  change_head(graph, 0);
}

bool is_head_of_any(std::uint64_t event) noexcept {
  if (heads.load(std::memory_order_acquire) == 0) return false;
  return std::any_of(std::begin(graphs.entries), std::end(graphs.entries),
                     [=](const NotedGraph& graph) { return graph.head.load(std::memory_order_acquire) == event; });
}

void add_operations(NotedGraph& to, CommunicatorId communicator, const GroupSummary& more) noexcept {
  to.sends.fetch_add(more.sends, std::memory_order_relaxed);
  to.receives.fetch_add(more.receives, std::memory_order_relaxed);
  to.collectives.fetch_add(more.collectives, std::memory_order_relaxed);
  to.bytes.fetch_add(more.sent_bytes + more.received_bytes + more.collective_bytes, std::memory_order_relaxed);
  CommunicatorId none = 0;
  to.communicator.compare_exchange_strong(none, communicator, std::memory_order_relaxed);
  // The order counts. Never 0, which says that it holds none.
  const std::uint64_t before = to.signature.load(std::memory_order_relaxed);
  to.signature.store(((before ^ more.signature) * 0xbf58476d1ce4e5b9u) | 1, std::memory_order_release);
}

GroupSummary operations_of(const NotedGraph& graph) noexcept {
  GroupSummary summary{};
  summary.signature = graph.signature.load(std::memory_order_acquire);
  summary.sends = capped(graph.sends.load(std::memory_order_relaxed));
  summary.receives = capped(graph.receives.load(std::memory_order_relaxed));
  summary.collectives = capped(graph.collectives.load(std::memory_order_relaxed));
  summary.collective_bytes = graph.bytes.load(std::memory_order_relaxed);  // all of them
  summary.send_peer = summary.receive_peer = -1;
  summary.reduces = summary.collectives != 0;  // for all that is noted
  return summary;
}

bool captures_into(CUstream stream, CUgraph* graph) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = real<Symbol::cuStreamGetCaptureInfo_v2>()(stream, &status, nullptr, graph, nullptr, nullptr);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void graph_made_of(const void* made, CUgraph graph) noexcept {
  if (!any_noted_graph()) return;
  graph_gone(made);
  graph_contains(made, graph);
}

void executable_made_of(CUgraphExec made, CUgraph graph) noexcept {
  graph_made_of(made, graph);
  NotedGraph* noted = any_noted_graph() ? find_graph(made) : nullptr;
  if (noted == nullptr) return;
  noted->is_executable.store(true, std::memory_order_relaxed);
  if (noted->waits.any()) change_head(*noted, head_of(graph));
}

void graph_contains(const void* graph, const void* child) noexcept {
  const NotedGraph* more = any_noted_graph() ? find_graph(child) : nullptr;
  if (more == nullptr || !(holds_operations(more) || more->waits.any() || more->records.any())) return;
  change_graph(graph, [more](NotedGraph& to) { add_all(to, *more); });
}

void graph_gone(const void* graph) noexcept {
  if (graph == nullptr) return;
  NotedGraph* noted = find_graph(graph);
  if (noted == nullptr) return;
  const bool has_bodies = noted->has_bodies.load(std::memory_order_acquire);
  forget(*noted);
  if (!has_bodies) return;
  // They go with the graph that they are in, and nobody names them.
  for (NotedGraph& body : graphs.entries)
    if (body.whole.load(std::memory_order_acquire) == key_of_graph(graph))
      graph_gone(reinterpret_cast<const void*>(body.key.load(std::memory_order_acquire)));
}

void graph_has_body(const void* graph, CUgraph body) noexcept {
  NotedGraph* whole = claim_graph(graph);
  NotedGraph* noted = claim_graph(body);
  if (whole == nullptr || noted == nullptr) return;
  whole->has_bodies.store(true, std::memory_order_release);
  noted->whole.store(key_of_graph(graph), std::memory_order_release);
}

}  // namespace weft
