// Graphs that hold NCCL operations; see captured_steps.h.
#include "shim/main_job/captured_steps.h"

#include <algorithm>
#include <limits>

#include "shim/main_job/capture.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/tables/handle_table.h"

namespace weft {
namespace {

constexpr std::uint32_t most_graphs = 8192;  // serving captures one for each batch size, or one for each layer of those

// Of a graph or of an executable one.
struct NotedGraph {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> whole;  // it is the body of a node of this one; 0: of none
  std::atomic<std::uint64_t> signature;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint32_t> sends, receives, collectives;
  std::atomic<CommunicatorId> communicator;  // of the first operation
};
using Table = HandleTable<NotedGraph, most_graphs>;
constinit Table graphs{};
constinit std::atomic<bool> any_graph_may{false};  // hold operations
constinit std::atomic<bool> any_body{false};       // of a conditional node was noted

std::uint64_t key_of(const void* graph) noexcept {
  return reinterpret_cast<std::uint64_t>(graph);
}

bool holds_operations(const NotedGraph* graph) noexcept {
  return graph != nullptr && graph->signature.load(std::memory_order_acquire) != 0;
}

void suspect_all() noexcept {
  any_graph_may.store(true, std::memory_order_relaxed);
  steps_were_captured.store(true, std::memory_order_release);
}

NotedGraph* claim(const void* graph) noexcept {
  NotedGraph* noted = graphs.claim(key_of(graph));
  if (noted != nullptr) return noted;
  note_full("captured graphs");
  suspect_all();
  return nullptr;
}

void add(NotedGraph& to, CommunicatorId communicator, const GroupSummary& more) noexcept {
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

std::uint16_t capped(std::uint32_t count) noexcept {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(count, std::numeric_limits<std::uint16_t>::max()));
}

GroupSummary summary_of(const NotedGraph& graph) noexcept {
  GroupSummary summary{};
  summary.signature = graph.signature.load(std::memory_order_acquire);
  summary.sends = capped(graph.sends.load(std::memory_order_relaxed));
  summary.receives = capped(graph.receives.load(std::memory_order_relaxed));
  summary.collectives = capped(graph.collectives.load(std::memory_order_relaxed));
  summary.collective_bytes = graph.bytes.load(std::memory_order_relaxed);  // all of them
  summary.send_peer = summary.receive_peer = -1;
  return summary;
}

void forget(NotedGraph& noted) noexcept {
  noted.whole.store(0, std::memory_order_relaxed);
  noted.signature.store(0, std::memory_order_relaxed);
  noted.bytes.store(0, std::memory_order_relaxed);
  noted.sends.store(0, std::memory_order_relaxed);
  noted.receives.store(0, std::memory_order_relaxed);
  noted.collectives.store(0, std::memory_order_relaxed);
  noted.communicator.store(0, std::memory_order_relaxed);
  Table::release(noted);
}

// A capture and the bodies within bodies that it is in.
void add_to_all(const void* graph, CommunicatorId communicator, const GroupSummary& summary) noexcept {
  constexpr int deepest = 16;
  std::uint64_t key = key_of(graph);
  for (int depth = 0; depth < deepest && key != 0; ++depth) {
    NotedGraph* noted = claim(reinterpret_cast<const void*>(key));
    if (noted == nullptr) return;
    add(*noted, communicator, summary);
    key = noted->whole.load(std::memory_order_acquire);
  }
  if (key != 0) suspect_all();
}

// False: it captures into nothing. `graph` is nullptr where that cannot be told.
bool captures_into(const Stream& stream, CUgraph* graph) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  const CUresult result = real<Symbol::cuStreamGetCaptureInfo_v2>()(handle, &status, nullptr, graph, nullptr, nullptr);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void note_step(const Stream& stream, const NotedGraph* graph, GroupId group, Ticket started, Ticket done,
               bool nothing_before) noexcept {
  note(EventKind::group_issued, stream.device.load(std::memory_order_relaxed), [&](Event& event) {
    event.nothing_launched = nothing_before;
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.group = group;
    event.ticket = started;
    event.done_ticket = done;
    event.summary = GroupSummary{};
    event.summary.send_peer = event.summary.receive_peer = -1;
    if (graph != nullptr) {
      event.communicator = graph->communicator.load(std::memory_order_relaxed);
      event.summary = summary_of(*graph);
    }
    event.summary.captured = 1;
  });
}

// As a group is announced, see groups.cpp.
CapturedStep announce(Stream& stream, const NotedGraph* graph) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  if (!has_marker_words(device)) return {};
  if (!may_mark(device)) return note_step(stream, graph, log_group(stream, 0), 0, 0, false), CapturedStep{};
  const LaunchCount launched = launches_so_far(stream);
  const Ticket started = reserve_ticket(device);
  const Ticket done = started == 0 ? 0 : reserve_ticket(device);
  if (done == 0 || !enqueue_marker(stream, started)) {
    write_ticket_from_host(device, started);
    write_ticket_from_host(device, done);
    return note_lost(), CapturedStep{};
  }
  const GroupId group = log_group(stream, done);
  stream.latest.store(done, std::memory_order_relaxed);
  note_step(stream, graph, group, started, done, nothing_launched_since_marker(stream, launched));
  return {&stream, done};
}

}  // namespace

constinit std::atomic<bool> steps_were_captured{false};

void operations_captured(const Stream& stream, CommunicatorId communicator, const GroupSummary& summary) noexcept {
  CUgraph graph = nullptr;
  if (!captures_into(stream, &graph)) return;
  if (graph == nullptr) return suspect_all();
  add_to_all(graph, communicator, summary);
  steps_were_captured.store(true, std::memory_order_release);
}

void graph_made_of(const void* made, CUgraph graph) noexcept {
  if (!any_captured_step()) return;
  graph_gone(made);
  graph_contains(made, graph);
}

void graph_contains(const void* graph, CUgraph child) noexcept {
  const NotedGraph* noted = any_captured_step() ? graphs.find(key_of(child)) : nullptr;
  if (holds_operations(noted))
    add_to_all(graph, noted->communicator.load(std::memory_order_relaxed), summary_of(*noted));
}

void graph_gone(const void* graph) noexcept {
  if (graph == nullptr) return;
  if (NotedGraph* noted = graphs.find(key_of(graph))) forget(*noted);
  // Bodies go with the graph that they are in, and nobody names them.
  if (!any_body.load(std::memory_order_relaxed)) return;
  for (NotedGraph& body : graphs.entries)
    if (body.whole.load(std::memory_order_acquire) == key_of(graph)) forget(body);
}

// Bodies are made empty, before anything is captured into them.
void graph_has_node(const void* graph, const CUgraphNodeParams* node) noexcept {
  if (node == nullptr || level() != Level::observe) return;
  if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) return graph_contains(graph, node->graph.graph);
  if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || node->conditional.phGraph_out == nullptr) return;
  for (unsigned int index = 0; index < node->conditional.size; ++index) {
    NotedGraph* body = claim(node->conditional.phGraph_out[index]);
    if (body == nullptr) continue;
    body->whole.store(key_of(graph), std::memory_order_release);
    any_body.store(true, std::memory_order_relaxed);
  }
}

CapturedStep captured_step_begins(CUgraphExec graph, CUstream stream, bool per_thread) noexcept {
  const NotedGraph* noted = graphs.find(key_of(graph));
  const bool holds = holds_operations(noted);
  if (!holds && !any_graph_may.load(std::memory_order_relaxed)) return {};
  Stream* known = learn_stream(name_of(stream, per_thread));
  if (known == nullptr) return {};
  if (!is_capturing(*known)) return announce(*known, holds ? noted : nullptr);
  // It becomes a part of what is captured.
  GroupSummary unknown{};
  unknown.signature = 1;
  operations_captured(*known, holds ? noted->communicator.load(std::memory_order_relaxed) : 0,
                      holds ? summary_of(*noted) : unknown);
  return {};
}

void captured_step_launched(const CapturedStep& step, bool made) noexcept {
  if (step.stream == nullptr || (made && enqueue_marker(*step.stream, step.done))) return;
  write_ticket_from_host(step.stream->device.load(std::memory_order_relaxed), step.done);
  if (made) note_lost();
}

}  // namespace weft
