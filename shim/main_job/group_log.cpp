// Groups that were announced; see group_log.h.
#include "shim/main_job/group_log.h"

#include "shim/main_job/copies.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/tables/stream_list.h"

namespace weft {
namespace {

constexpr std::uint32_t most_groups = 4096;
constexpr std::uint32_t most_group_streams = 256;

struct LoggedGroup {
  std::atomic<GroupId> id;
  std::atomic<Stream*> stream;
  std::atomic<StreamId> stream_id;
  std::atomic<std::int32_t> device;
  std::atomic<Ticket> started, done;
};
constinit LoggedGroup groups[most_groups]{};
constinit std::atomic<GroupId> last_group{0};
constinit StreamList<most_group_streams> group_streams[most_devices]{};  // those that groups were issued on

void remember_group(GroupId group, Stream& stream, Ticket started, Ticket done) noexcept {
  LoggedGroup& logged = groups[group % most_groups];
  logged.id.store(0, std::memory_order_release);
  logged.stream.store(&stream, std::memory_order_relaxed);
  logged.stream_id.store(stream.id.load(std::memory_order_relaxed), std::memory_order_relaxed);
  logged.device.store(stream.device.load(std::memory_order_relaxed), std::memory_order_relaxed);
  logged.started.store(started, std::memory_order_relaxed);
  logged.done.store(done, std::memory_order_relaxed);
  logged.id.store(group, std::memory_order_release);
  stream.group.store(group, std::memory_order_release);
}

struct GroupPlace {
  Stream* stream;  // nullptr: forgotten
  StreamId id;
  int device;
  Ticket started, done;
};

GroupPlace place_of_group(GroupId group) noexcept {
  const LoggedGroup& logged = groups[group % most_groups];
  if (group == 0 || logged.id.load(std::memory_order_acquire) != group) return {};
  const GroupPlace found{logged.stream.load(std::memory_order_relaxed),
                         logged.stream_id.load(std::memory_order_relaxed),
                         logged.device.load(std::memory_order_relaxed), logged.started.load(std::memory_order_relaxed),
                         logged.done.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  return logged.id.load(std::memory_order_relaxed) == group ? found : GroupPlace{};
}

bool is_pending(const GroupPlace& place) noexcept {
  return place.stream != nullptr && !reached(place.device, place.done);
}

// The stream's last group if it is not over, else 0.
GroupId pending_group_of(Stream& stream) noexcept {
  GroupId group = stream.group.load(std::memory_order_acquire);
  if (group == 0 || is_pending(place_of_group(group))) return group;
  // Over: asked for once only.
  stream.group.compare_exchange_strong(group, 0, std::memory_order_acq_rel);
  return 0;
}

// Enqueues the marker of a group's end, on whatever thread. False: its stream is gone or another thread's own, or a
// stream captures; then there is none.
bool enqueue_end_marker(const GroupPlace& place) noexcept {
  Stream& stream = *place.stream;
  return ask_undisturbed([&] {
    const bool exists = stream.id.load(std::memory_order_seq_cst) == place.id;
    const StreamName here = name_of(stream.handle.load(std::memory_order_relaxed), true);
    const bool is_same = exists && here.key == stream.key.load(std::memory_order_relaxed);
    if (!is_same || !enqueue_marker(stream, place.done)) return false;
    set_next_launch_noted(stream, true);
    return true;
  });
}

void finish_group(GroupId group, bool launched) noexcept {
  const GroupPlace place = place_of_group(group);
  if (place.stream == nullptr) return;
  if (!launched || !enqueue_end_marker(place)) write_ticket_from_host(place.device, place.done);
}

}  // namespace

GroupId log_group(Stream& stream, Ticket started, Ticket done) noexcept {
  const GroupId group = last_group.fetch_add(1, std::memory_order_relaxed) + 1;
  if (done != 0) remember_group(group, stream, started, done);
  note_use(stream);
  if (!group_streams[stream.device.load(std::memory_order_relaxed)].add(stream)) {
    note_full("streams of one device with NCCL groups");
  }
  return group;
}

GroupId pending_group(int device) noexcept {
  GroupId pending = 0;
  group_streams[device].visit_until([&pending](Stream& stream) {
    pending = pending_group_of(stream);
    return pending != 0;
  });
  return pending;
}

void forget_groups_on(Stream& stream) noexcept {
  stream.group.store(0, std::memory_order_relaxed);
  group_streams[stream.device.load(std::memory_order_relaxed)].remove(stream);
}

bool UnfinishedGroups::any() const noexcept {
  for (const auto& place : groups_) {
    if (place.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

void UnfinishedGroups::add(GroupId group) noexcept {
  for (auto& place : groups_) {
    GroupId none = 0;
    if (place.compare_exchange_strong(none, group, std::memory_order_acq_rel)) return;
  }
  note_lost();
  finish_group(group, false);
}

void UnfinishedGroups::finish_all(bool launched) noexcept {
  for (auto& place : groups_) {
    const GroupId group = place.exchange(0, std::memory_order_acq_rel);
    if (group != 0) finish_group(group, launched);
  }
}

}  // namespace weft
