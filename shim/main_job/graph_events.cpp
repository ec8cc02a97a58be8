// Events in graphs; see graph_events.h.
#include "shim/main_job/graph_events.h"

#include "shim/main_job/capture.h"
#include "shim/main_job/event_places.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/waits.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

std::uint64_t key_of(CUevent event) noexcept {
  return reinterpret_cast<std::uint64_t>(event);
}

void add(NotedGraph& graph, CUevent event, EventNode node) noexcept {
  if (node == EventNode::waits) return graph.waits.add(key_of(event));
  graph.records.add(key_of(event));
}

// The places that a launch of the graph waits for.
struct PendingWait {
  EventPlace place{};  // ticket 0: for nothing. Of several places one of another device, if there is one
  bool for_several = false;
  bool for_head = false;
};

void add(PendingWait& wait, const EventPlace& place, int device) noexcept {
  const bool is_first = wait.place.ticket == 0;
  if (!is_first && wait.place != place) wait.for_several = true;
  if (is_first || place.device != device) wait.place = place;
}

PendingWait pending_wait(const NotedGraph& graph, const Stream& stream) noexcept {
  const StreamId own = stream.id.load(std::memory_order_relaxed);
  const std::uint64_t waited = stream.waited.load(std::memory_order_relaxed);
  const int device = stream.device.load(std::memory_order_relaxed);
  PendingWait wait;
  graph.waits.visit([&](CUevent event) {
    EventPlace place = place_of_event(event);
    if (!is_ahead(place) || place.stream == own) return;
    place.copies = false;  // behind the group it is not known whether the graph waits or computes
    if (packed(place) == waited) return;
    add(wait, place, device);
    wait.for_head = wait.for_head || key_of(event) == graph.head.load(std::memory_order_acquire);
  });
  if (graph.waits.has_more() && places_ahead(device) != 0) wait.for_several = true;
  if (!wait.for_several) return wait;
  wait.for_head = false;
  if (wait.place.ticket == 0 || wait.place.device == device)
    wait.place = {every_stream, device, newest_ticket(device).load(std::memory_order_relaxed)};
  return wait;
}

}  // namespace

bool event_captured(CUstream stream, bool per_thread, CUevent event, EventNode node) noexcept {
  const Stream* known = learn_stream(name_of(stream, per_thread));
  CUgraph graph = nullptr;
  if (known == nullptr || !is_capturing(*known) ||
      !captures_into(known->handle.load(std::memory_order_relaxed), &graph))
    return false;
  if (graph != nullptr) return event_node_added(graph, event, node), true;
  if (node == EventNode::records) note_lost();
  return suspect_all_graphs(), true;
}

void event_node_added(CUgraph graph, CUevent event, EventNode node) noexcept {
  change_graph(graph, [=](NotedGraph& noted) { add(noted, event, node); });
  graphs_are_noted.store(true, std::memory_order_release);
}

void event_node_changed(CUgraphExec graph, CUevent event, EventNode node) noexcept {
  NotedGraph* noted = claim_graph(graph);
  graphs_are_noted.store(true, std::memory_order_release);
  if (noted == nullptr) return;
  forget_head(*noted);
  add(*noted, event, node);
}

void event_node_changed(CUevent event, EventNode node) noexcept {
  if (!any_noted_graph()) return;
  visit_graphs([=](NotedGraph& graph) {
    if ((node == EventNode::waits ? graph.waits : graph.records).any()) add(graph, event, node);
  });
}

// Bodies are made empty, before anything is captured into them.
void node_added(CUgraph graph, const CUgraphNodeParams* node) noexcept {
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) return graph_contains(graph, node->graph.graph);
  if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
    return event_node_added(graph, node->eventWait.event, EventNode::waits);
  if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
    return event_node_added(graph, node->eventRecord.event, EventNode::records);
  if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || node->conditional.phGraph_out == nullptr) return;
  for (unsigned int index = 0; index < node->conditional.size; ++index)
    graph_has_body(graph, node->conditional.phGraph_out[index]);
}

void node_changed(CUgraphExec graph, const CUgraphNodeParams* node) noexcept {
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) return graph_contains(graph, node->graph.graph);
  if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
    return event_node_changed(graph, node->eventWait.event, EventNode::waits);
  if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
    return event_node_changed(graph, node->eventRecord.event, EventNode::records);
}

void node_changed(const CUgraphNodeParams* node) noexcept {
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) event_node_changed(node->eventWait.event, EventNode::waits);
  if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) event_node_changed(node->eventRecord.event, EventNode::records);
}

void event_moves(CUevent event, StreamId stream) noexcept {
  const EventPlace before = place_of_event(event);
  if (!is_ahead(before) || before.stream == stream) return;
  if (is_head_of_any(key_of(event))) note(EventKind::graph_wait_moved, before.device, [](Event&) {});
}

GraphLaunch announce_graph_wait(Stream& stream, const NotedGraph& graph) noexcept {
  const PendingWait wait = pending_wait(graph, stream);
  if (wait.place.ticket == 0) return {};
  note_use(stream);
  const StreamWait noted =
      begin_noted_wait(stream, wait.place, wait.for_head ? InGraph::at_its_head : InGraph::somewhere);
  return noted.passed == 0 ? GraphLaunch{} : GraphLaunch{&stream, noted.passed};
}

// Nothing documents whether the event stands for its earlier record until the node has run. Markers show when a wait
// for it is over; what it is for has to be known only as long as it can last.
void graph_records(const NotedGraph& graph, CUstream stream, bool per_thread) noexcept {
  const Stream* known = find_stream(name_of(stream, per_thread));
  if (known == nullptr || is_capturing(*known)) return;
  const EventPlace behind{known->id.load(std::memory_order_relaxed), known->device.load(std::memory_order_relaxed),
                          known->latest.load(std::memory_order_relaxed)};
  // Who waits for one of those waits for something that is not known. It matters only behind communication.
  if (graph.records.has_more() && is_ahead(behind)) note_full("events that one CUDA graph records");
  graph.records.visit([&](CUevent event) {
    const EventPlace before = place_of_event(event);
    if (!is_ahead(before) || before.stream == behind.stream) return event_recorded(event, stream, per_thread);
    if (!is_ahead(behind)) return;
    map_event(event, {every_stream, before.device, newest_ticket(before.device).load(std::memory_order_relaxed)});
  });
}

}  // namespace weft
