// Graphs of the main job that hold NCCL operations: while one is replayed, nobody sees from outside whether it computes
// or waits in a receive. Such a launch is announced as a group with `captured` set, with markers on either side of it.
//
// Hooks on the main job's threads, no lock. An operation is noted for the graph that its stream captures into
// (noted_graphs.h).
#pragma once

#include "detector/event.h"
#include "shim/main_job/graph_launches.h"

namespace weft {

struct Stream;
struct NotedGraph;

// Operations of one communicator are captured on this stream, into whatever it captures into.
void operations_captured(const Stream& stream, CommunicatorId communicator, const GroupSummary& summary) noexcept;

// A graph is about to be launched that holds some; nullptr: it may hold some, or a kernel is (unseen_nccl.h).
GraphLaunch announce_step(Stream& stream, const NotedGraph* graph, Captured what) noexcept;

}  // namespace weft
