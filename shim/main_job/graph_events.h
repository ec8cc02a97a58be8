// Events that nodes of the main job's graphs wait for or record: captured as such (CU_EVENT_WAIT_EXTERNAL,
// CU_EVENT_RECORD_EXTERNAL) or added by hand. A launch of such a graph waits as a stream does, and records as a stream
// does.
//
// Hooks on the main job's threads, no lock. Noted from where the main job's streams are learned on, because a graph may
// be older than the first communicator. A graph waits for eight events at most; of more it is known that they may be
// any. Which node has which event is not known, so that one that was changed adds an event and takes none away.
#pragma once

#include "detector/event.h"
#include "shim/main_job/graph_launches.h"
#include "shim/routing/vendor.h"

namespace weft {

struct NotedGraph;

enum class EventNode : unsigned char { waits, records };

// The stream has taken the call into what it captures. False: it does not capture.
bool event_captured(CUstream stream, bool per_thread, CUevent event, EventNode node) noexcept;
// `graph` has got such a node, or an executable graph's node another event.
void event_node_added(CUgraph graph, CUevent event, EventNode node) noexcept;
void event_node_changed(CUgraphExec graph, CUevent event, EventNode node) noexcept;
// A node of nobody knows which graph has got another event.
void event_node_changed(CUevent event, EventNode node) noexcept;

// A node has been added or changed: with an event, with the graph of a child, or with bodies of its own.
void node_added(CUgraph graph, const CUgraphNodeParams* node) noexcept;
void node_changed(CUgraphExec graph, const CUgraphNodeParams* node) noexcept;
void node_changed(const CUgraphNodeParams* node) noexcept;

// The event is about to stand for a place on `stream`; a graph that has been launched may be waiting for it.
void event_moves(CUevent event, StreamId stream) noexcept;

// Before the launch, where one of its events stands for a place that is not reached. No markers: none does.
GraphLaunch announce_graph_wait(Stream& stream, const NotedGraph& graph) noexcept;
// Behind the launch.
void graph_records(const NotedGraph& graph, CUstream stream, bool per_thread) noexcept;

}  // namespace weft
