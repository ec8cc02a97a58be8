// Who waits for a group; see waits.h.
#include "shim/main_job/waits.h"

#include "shim/activate.h"
#include "shim/main_job/capture.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/event_groups.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"

namespace weft {
namespace {

// A marker that tells when the stream has come to this place. Nothing when it is capturing.
Ticket enqueue_wait_marker(Stream& stream) noexcept {
  if (is_capturing(stream)) return 0;
  const Ticket ticket = enqueue_marker(stream);
  if (ticket != 0) stream.marker.store(ticket, std::memory_order_relaxed);
  return ticket;
}

void note_wait(EventKind kind, const Stream& stream, GroupId group, Ticket ticket) noexcept {
  note(kind, stream.device.load(std::memory_order_relaxed), [&](Event& event) {
    event.stream = stream.id.load(std::memory_order_relaxed);
    event.group = group;
    event.ticket = ticket;
  });
}

void note_host_wait(EventKind kind, const HostWait& wait) noexcept {
  note(kind, wait.device, [&](Event& event) {
    event.stream = wait.stream;
    event.group = wait.group;
  });
}

// A stream that has been dry may have been launched on since, which no hook sees: so the core asks every stream that
// may be in use anew at every wait, unless a marker on it is still on its way. It asks by cuStreamQuery, because a
// marker would be work that the main job did not ask for: on a blocking stream it waits for the legacy stream, and in a
// hardware queue for whoever else is in it, perhaps for a receive that only ends when the host wait has. A question
// orders nothing. The default streams are not asked: per-thread ones answer only to their threads. False: too many to
// ask; whether the device is idle cannot be told.
bool note_busy_streams(int device) noexcept {
  Stream* found[most_asked];
  const int count = streams_to_ask(device, found);
  for (int index = 0; index < count; ++index) {
    Stream& stream = *found[index];
    if (!reached(device, stream.marker.load(std::memory_order_relaxed))) continue;
    if (pending_group_of(stream) == 0) note_wait(EventKind::idle_check_issued, stream, 0, 0);
  }
  return count >= 0;
}

HostWait begin_wait(int device, StreamId stream, GroupId group) noexcept {
  if (!note_busy_streams(device)) return {};
  const HostWait wait{device, stream, group};
  note_host_wait(EventKind::host_wait_begun, wait);
  return wait;
}

[[gnu::noinline]] HostWait begin_stream_wait(int device, const StreamName& name) noexcept {
  Stream* stream = learn_stream(name);
  if (stream == nullptr) return {};
  return begin_wait(device, stream->id.load(std::memory_order_relaxed), pending_group_of(*stream));
}

}  // namespace

void event_recorded(CUevent event, CUstream stream, bool per_thread) noexcept {
  Stream* known = find_stream(name_of(stream, per_thread));
  if (known == nullptr) return map_event(event, 0);
  note_use(*known);
  map_event(event, pending_group_of(*known));
}

void stream_waits(CUstream stream, bool per_thread, CUevent event) noexcept {
  const GroupId group = group_of_event(event);
  if (group == 0) return;
  const GroupPlace place = place_of_group(group);
  if (!is_pending(place)) return;
  Stream* waiting = learn_stream(name_of(stream, per_thread));
  if (waiting == nullptr || waiting->id.load(std::memory_order_relaxed) == place.id) return;
  note_use(*waiting);
  // It waits for this group already, or will by then.
  if (waiting->waited.load(std::memory_order_relaxed) == group) return;
  const Ticket ticket = enqueue_wait_marker(*waiting);
  if (ticket == 0) return;
  waiting->waited.store(group, std::memory_order_relaxed);
  note_wait(EventKind::wait_issued, *waiting, group, ticket);
}

HostWait host_waits_for_stream(CUstream stream, bool per_thread) noexcept {
  const StreamName name = name_of(stream, per_thread);
  Stream* known = find_stream(name);
  if (known != nullptr) note_use(*known);
  const int device = known != nullptr ? known->device.load(std::memory_order_relaxed) : current_device();
  if (device < 0 || pending_group(device) == 0) return {};
  return begin_stream_wait(device, name);
}

HostWait host_waits_for_event(CUevent event) noexcept {
  const GroupId group = group_of_event(event);
  const GroupPlace place = place_of_group(group);
  if (is_pending(place)) return begin_wait(place.device, place.id, group);
  const int device = current_device();
  return device < 0 || pending_group(device) == 0 ? HostWait{} : begin_wait(device, 0, 0);
}

HostWait host_waits_for_device() noexcept {
  const int device = current_device();
  if (device < 0) return {};
  const GroupId group = pending_group(device);
  return group == 0 ? HostWait{} : begin_wait(device, 0, group);
}

constinit std::atomic<bool> quiet_moments_wanted{false};

void offer_quiet_moment() noexcept {
  const int device = current_device();
  if (device < 0 || level() != Level::observe) return;
  CoreCall inside;
  core()->quiet_moment(device);
}

void note_wait_over(HostWait wait) noexcept {
  note_host_wait(EventKind::host_wait_ended, wait);
}

}  // namespace weft
