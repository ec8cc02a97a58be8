// NCCL groups: what they do, and the markers around them; see groups.h.
#include "shim/main_job/groups.h"

#include "shim/main_job/call_sites.h"
#include "shim/main_job/capture.h"
#include "shim/main_job/captured_steps.h"
#include "shim/main_job/communicators.h"
#include "shim/main_job/copies.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"

namespace weft {
namespace {

constexpr std::uint32_t most_members = 64;
constexpr std::uint32_t most_promises = 64;
constexpr std::uint32_t most_closings = 64;
constexpr std::uint32_t most_open_groups = 64;
constexpr std::uint32_t most_operations = 8;  // as a line of the trace has room for (trace/record.h)

std::uint64_t bytes_of(ncclDataType_t type) noexcept {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

// Order matters: the same operations in another order are another group.
std::uint64_t mixed(std::uint64_t signature, std::uint64_t value) noexcept {
  signature = (signature ^ value) * 0xbf58476d1ce4e5b9u;
  return signature ^ (signature >> 29);
}

StreamName stream_of(const GroupMember& member) noexcept {
  // A default stream is that of the communicator's device, whichever is current.
  const int device = member.communicator->device.load(std::memory_order_relaxed);
  const CUstream named = member.stream_argument;
  if (named == nullptr || named == CU_STREAM_LEGACY) return legacy_stream_of(device);
  return named == CU_STREAM_PER_THREAD ? own_stream_of(device) : name_of(named, false);
}

void note_group(const GroupMember& member, int device, Ticket started, bool nothing_before) noexcept {
  note(EventKind::group_issued, device, [&](Event& event) {
    event.nothing_launched = nothing_before;
    event.stream = member.stream->id.load(std::memory_order_relaxed);
    event.order = order_of_marked(*member.stream);
    event.communicator = member.communicator->id.load(std::memory_order_relaxed);
    event.group = member.group;
    event.ticket = started;
    event.done_ticket = member.done;
    event.summary = member.summary;
  });
}

// Two by two, because so many fit into one event. A trace can do without them, filling cannot do without the others.
void note_operations(const GroupMember& member, int device) noexcept {
  if (member.operations_kept != 0 && event_ring.half_full()) return;
  for (std::uint32_t index = 0; index < member.operations_kept; index += 2) {
    note_again(EventKind::operations_issued, device, [&](Event& event) {
      event.communicator = member.communicator->id.load(std::memory_order_relaxed);
      event.group = member.group;
      event.operations[0] = member.operations[index];
      if (index + 1 < member.operations_kept) event.operations[1] = member.operations[index + 1];
    });
  }
}

// Where nothing may be enqueued its beginning and end stay unknown; there is nothing to close.
void note_unmarked_group(GroupMember& member, Stream& stream, int device) noexcept {
  member.stream = &stream;
  member.group = log_group(stream, 0, 0);
  note_group(member, device, 0, false);
  note_operations(member, device);
  member.stream = nullptr;
}

// A launch of another thread between the markers stands ahead of NCCL's kernel, or ahead of the marker behind it.
bool is_order_sure(const GroupMember& member, ncclResult_t result) noexcept {
  const int device = member.stream->device.load(std::memory_order_relaxed);
  std::uint32_t launches = 0;
  return result != ncclInProgress && member.launches_counted && all_launches(device, &launches) &&
         launches == member.launches;
}

}  // namespace

struct OpenGroup {
  struct Promise {
    ncclComm_t communicator;
    ncclComm_t* place;
    CommunicatorOrigin origin;
  };
  std::atomic<std::uint32_t> taken;
  std::uint32_t members;
  std::uint32_t promises;
  std::uint32_t closings;
  GroupMember member[most_members];
  Promise promise[most_promises];
  CommunicatorId closing[most_closings];
  IssuedOperation operation[most_members][most_operations];
};

namespace {

constinit OpenGroup open_groups[most_open_groups]{};

OpenGroup* take_group() noexcept {
  if (thread_state.group != nullptr) return thread_state.group;
  for (OpenGroup& group : open_groups) {
    std::uint32_t free = 0;
    if (!group.taken.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) continue;
    group.members = 0;
    group.promises = 0;
    group.closings = 0;
    return thread_state.group = &group;
  }
  note_full("open NCCL groups");
  return nullptr;
}

void give_group_back() noexcept {
  OpenGroup* group = thread_state.group;
  thread_state.group = nullptr;
  if (group == nullptr) return;
  for (std::uint32_t index = 0; index < group->closings; ++index) communicator_destroyed(group->closing[index]);
  group->taken.store(0, std::memory_order_release);
}

GroupMember* member_for(OpenGroup& group, const OperationCall& call) noexcept {
  for (std::uint32_t index = 0; index < group.members; ++index) {
    const GroupMember& member = group.member[index];
    if (member.handle == call.communicator && member.stream_argument == call.stream) return &group.member[index];
  }
  if (group.members == most_members) return nullptr;
  GroupMember& added = group.member[group.members];
  added = GroupMember{};
  added.operations = group.operation[group.members++];
  added.most_operations = most_operations;
  return &added;
}

bool is_send(Operation kind) noexcept {
  return kind == Operation::send || kind == Operation::put;
}

bool is_receive(Operation kind) noexcept {
  return kind == Operation::receive || kind == Operation::wait_signals;
}

bool adds_up(Operation kind) noexcept {
  return kind == Operation::all_reduce || kind == Operation::reduce || kind == Operation::reduce_scatter;
}

// Counted in any case: the ones behind it have to have the right number.
void keep_operation(GroupMember& member, const OperationCall& call, std::uint64_t bytes) noexcept {
  Communicator& communicator = *member.communicator;
  const CommunicatorId id = communicator.id.load(std::memory_order_relaxed);
  const std::uint64_t sequence = next_in_sequence(communicator.sequences, id, call.kind, call.peer);
  if (member.operations_kept == member.most_operations) return;
  member.operations[member.operations_kept++] = {bytes, sequence, call.peer, call.kind, true, {}};
}

}  // namespace

void add_operation(GroupMember& member, const OperationCall& call) noexcept {
  GroupSummary& summary = member.summary;
  if (member.communicator == nullptr) {
    member.communicator = open_communicator(call.communicator);
    member.handle = call.communicator;
    member.stream_argument = call.stream;
    if (member.communicator == nullptr) return operation_missed(call.communicator);
    summary.send_peer = -1;
    summary.receive_peer = -1;
    summary.signature = mixed(0, member.communicator->id.load(std::memory_order_relaxed));
  }
  const std::uint64_t bytes = call.count * bytes_of(call.type);
  summary.signature =
      mixed(summary.signature, static_cast<std::uint64_t>(call.kind) << 32 | static_cast<std::uint32_t>(call.peer));
  summary.signature = mixed(summary.signature, bytes);
  if (operations_are_noted.load(std::memory_order_relaxed)) keep_operation(member, call, bytes);
  if (is_send(call.kind)) {
    if (summary.sends++ == 0) summary.send_peer = call.peer;
    summary.sent_bytes += bytes;
  } else if (is_receive(call.kind)) {
    if (summary.receives++ == 0) summary.receive_peer = call.peer;
    summary.received_bytes += bytes;
  } else {
    ++summary.collectives;
    if (adds_up(call.kind)) summary.reduces = 1;
    summary.collective_bytes += bytes;
  }
}

// Tickets for both ends are taken before the real call, so that the event can be pushed before it too: a call that
// blocks on the host is then seen while it blocks.
void announce_member(GroupMember& member) noexcept {
  if (member.communicator == nullptr || level() != Level::observe) return;
  const int device = member.communicator->device.load(std::memory_order_relaxed);
  if (!has_marker_words(device)) return;
  finish_groups(*member.communicator, member.handle);
  Stream* stream = learn_stream(stream_of(member));
  if (stream == nullptr) return;
  if (is_capturing(*stream)) {
    operations_captured(*stream, member.communicator->id.load(std::memory_order_relaxed), member.summary);
    return lose_sequences(member.communicator->sequences);
  }
  const CommunicatorId communicator = member.communicator->id.load(std::memory_order_relaxed);
  if (!may_mark(device) || !has_room_or_notes(*stream, member.summary, communicator))
    return note_unmarked_group(member, *stream, device);
  const LaunchCount launched = launches_so_far(*stream);
  const Ticket started = reserve_ticket(device);
  const Ticket done = started == 0 ? 0 : reserve_ticket(device);
  if (done == 0 || !enqueue_marker(*stream, started)) {
    write_ticket_from_host(device, started);
    write_ticket_from_host(device, done);
    note_lost();
    return;
  }
  count_marks(*stream, done);
  member.stream = stream;
  member.done = done;
  member.group = log_group(*stream, started, done);
  stream->latest.store(done, std::memory_order_relaxed);
  note_group(member, device, started, nothing_launched_since_marker(*stream, launched));
  note_operations(member, device);
  member.is_ordered = order_of(*stream) != StreamOrder::none;
  member.launches_counted = member.is_ordered && all_launches(device, &member.launches);
}

void close_member(GroupMember& member, ncclResult_t result) noexcept {
  const bool accepted = result == ncclSuccess || result == ncclInProgress;
  if (!accepted && member.communicator != nullptr) lose_sequences(member.communicator->sequences);
  if (member.stream == nullptr) return;
  if (member.is_ordered && !is_order_sure(member, result)) {
    note(EventKind::order_unsure, member.stream->device.load(std::memory_order_relaxed), [](Event&) {});
  }
  if (result == ncclInProgress) return member.communicator->unfinished.add(member.group);
  // A group that NCCL refused is over at once.
  if (result == ncclSuccess && enqueue_marker(*member.stream, member.done))
    return set_next_launch_noted(*member.stream, true);  // it may hold up the hardware queue behind the group
  write_ticket_from_host(member.stream->device.load(std::memory_order_relaxed), member.done);
  const bool launched_nothing = result == ncclInvalidArgument || result == ncclInvalidUsage;
  if (!launched_nothing) note_lost();
}

void show_member(const GroupMember& member) noexcept {
  if (member.done == 0) return;  // not announced, or not watched
  const int device = member.communicator->device.load(std::memory_order_relaxed);
  if (is_call_wanted(device, member.group)) show_call(device, member.group);
}

bool in_group() noexcept {
  return thread_state.group_depth != 0;
}

void group_started() noexcept {
  ++thread_state.group_depth;
}

void operation_added(const OperationCall& call) noexcept {
  OpenGroup* group = take_group();
  if (group == nullptr) return operation_missed(call.communicator);
  if (GroupMember* member = member_for(*group, call)) return add_operation(*member, call);
  operation_missed(call.communicator);
  note_full("communicators and streams in one NCCL group");
}

void announce_group() noexcept {
  OpenGroup* group = thread_state.group;
  if (thread_state.group_depth != 1 || group == nullptr) return;
  for (std::uint32_t index = 0; index < group->members; ++index) announce_member(group->member[index]);
}

void group_ended(ncclResult_t result) noexcept {
  if (thread_state.group_depth == 0 || --thread_state.group_depth != 0) return;
  OpenGroup* group = thread_state.group;
  if (group == nullptr) return;
  for (std::uint32_t index = 0; index < group->members; ++index) close_member(group->member[index], result);
  for (std::uint32_t index = 0; index < group->members; ++index) show_member(group->member[index]);
  const bool made = result == ncclSuccess || result == ncclInProgress;
  for (std::uint32_t index = 0; made && index < group->promises; ++index) {
    const OpenGroup::Promise& promise = group->promise[index];
    const ncclComm_t communicator = promise.place != nullptr ? *promise.place : promise.communicator;
    if (communicator != nullptr) communicator_created(communicator, promise.origin, result == ncclSuccess);
  }
  give_group_back();
}

void group_dropped() noexcept {
  if (thread_state.group_depth == 0 || --thread_state.group_depth != 0) return;
  OpenGroup* group = thread_state.group;
  for (std::uint32_t index = 0; group != nullptr && index < group->members; ++index) {
    operation_missed(group->member[index].handle);
  }
  give_group_back();
}

void communicator_ends(CommunicatorId communicator) noexcept {
  OpenGroup* group = communicator != 0 && in_group() ? take_group() : nullptr;
  if (group == nullptr || group->closings == most_closings) return communicator_destroyed(communicator);
  group->closing[group->closings++] = communicator;
}

void communicator_promised(ncclComm_t communicator, ncclComm_t* place, const CommunicatorOrigin& origin) noexcept {
  OpenGroup* group = take_group();
  if (group == nullptr) return;
  if (group->promises == most_promises) return note_full("communicators made in one NCCL group");
  group->promise[group->promises++] = {communicator, place, origin};
}

}  // namespace weft
