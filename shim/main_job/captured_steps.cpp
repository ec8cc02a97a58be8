// Graphs that hold NCCL operations; see captured_steps.h.
#include "shim/main_job/captured_steps.h"

#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

void note_step(const Stream& stream, const NotedGraph* graph, GroupId group, Ticket started, Ticket done,
               bool nothing_before, Captured what) noexcept {
  note(EventKind::group_issued, stream.device.load(std::memory_order_relaxed), [&](Event& event) {
    event.nothing_launched = nothing_before;
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.order = order_of_marked(stream);
    event.group = group;
    event.ticket = started;
    event.done_ticket = done;
    event.summary = GroupSummary{};
    event.summary.send_peer = event.summary.receive_peer = -1;
    if (graph != nullptr) {
      event.communicator = graph->communicator.load(std::memory_order_relaxed);
      event.summary = operations_of(*graph);
    }
    event.summary.captured = what;
  });
}

}  // namespace

// As a group is announced, see groups.cpp.
GraphLaunch announce_step(Stream& stream, const NotedGraph* graph, Captured what) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  if (!has_marker_words(device)) return {};
  if (!may_mark(device) || !has_room_or_notes(stream))
    return note_step(stream, graph, log_group(stream, 0, 0), 0, 0, false, what), GraphLaunch{};
  const LaunchCount launched = launches_so_far(stream);
  const Ticket started = reserve_ticket(device);
  const Ticket done = started == 0 ? 0 : reserve_ticket(device);
  if (done == 0 || !enqueue_marker(stream, started)) {
    write_ticket_from_host(device, started);
    write_ticket_from_host(device, done);
    return note_lost(), GraphLaunch{};
  }
  const GroupId group = log_group(stream, started, done);
  count_marks(stream, done);
  stream.latest.store(done, std::memory_order_relaxed);
  note_step(stream, graph, group, started, done, nothing_launched_since_marker(stream, launched), what);
  return {&stream, done};
}

void operations_captured(const Stream& stream, CommunicatorId communicator, const GroupSummary& summary) noexcept {
  CUgraph graph = nullptr;
  if (!captures_into(stream.handle.load(std::memory_order_relaxed), &graph)) return;
  if (graph == nullptr) return suspect_all_graphs();
  change_graph(graph, [&](NotedGraph& noted) { add_operations(noted, communicator, summary); });
  graphs_are_noted.store(true, std::memory_order_release);
}

}  // namespace weft
