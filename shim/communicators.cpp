// Communicators of the main job; see communicators.h.
#include "shim/communicators.h"

#include "shim/handle_table.h"
#include "shim/markers.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/real.h"
#include "shim/streams.h"

namespace weft {
namespace {

namespace state {
constexpr std::uint32_t kCreated = 0;  // not ready, or nobody has asked yet
constexpr std::uint32_t kOpening = 1;
constexpr std::uint32_t kOpen = 2;
constexpr std::uint32_t kClosed = 3;
}  // namespace state

constexpr std::uint32_t kCommunicators = 512;
using Table = HandleTable<Communicator, kCommunicators>;
constinit Table communicators{};
constinit std::atomic<CommunicatorId> last_communicator{0};
constinit std::atomic<bool> someone_opens{false};

std::uint64_t key_of(ncclComm_t communicator) noexcept {
  return reinterpret_cast<std::uint64_t>(communicator);
}

bool ask_nccl(ncclComm_t communicator, CommunicatorInfo& info) noexcept {
  Depth inside(thread_state.inside_nccl);
  return real<Symbol::ncclCommCuDevice>()(communicator, &info.device) == ncclSuccess &&
         real<Symbol::ncclCommUserRank>()(communicator, &info.rank) == ncclSuccess &&
         real<Symbol::ncclCommCount>()(communicator, &info.ranks) == ncclSuccess && info.device >= 0 &&
         info.device < kMostDevices;
}

void tell_core(const CommunicatorInfo& info) noexcept {
  Event event = event_of(EventKind::communicator_opened, info.device);
  event.communicator = info.id;
  event.rank = info.rank;
  event.ranks = info.ranks;
  note(event);
  Depth inside(thread_state.inside_core);
  core()->communicator_opened(info);
}

bool open(Communicator& entry, ncclComm_t communicator) noexcept {
  CommunicatorInfo info{};
  if (!ask_nccl(communicator, info)) return false;
  // One at a time, without waiting: a thread that comes second opens its communicator when it first uses it.
  if (someone_opens.exchange(true, std::memory_order_acq_rel)) return false;
  const bool started = start_core();
  if (started) {
    note_device(info.device);
    info.id = last_communicator.fetch_add(1, std::memory_order_relaxed) + 1;
    entry.id.store(info.id, std::memory_order_relaxed);
    entry.device.store(info.device, std::memory_order_relaxed);
    tell_core(info);
  }
  someone_opens.store(false, std::memory_order_release);
  return started;
}

void finish(GroupId group, bool launched) noexcept {
  const GroupPlace place = place_of(group);
  if (place.stream == nullptr) return;
  const bool alive = place.stream->id.load(std::memory_order_acquire) == place.id;
  if (!launched || !alive || !enqueue_marker(*place.stream, place.done)) settle(place.device, place.done);
}

void finish_all(Communicator& entry, bool launched) noexcept {
  for (auto& place : entry.unfinished) {
    const GroupId group = place.exchange(0, std::memory_order_acq_rel);
    if (group != 0) finish(group, launched);
  }
}

bool has_unfinished(const Communicator& entry) noexcept {
  for (const auto& place : entry.unfinished) {
    if (place.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

}  // namespace

Communicator* known_communicator(ncclComm_t communicator) noexcept {
  if (communicator == nullptr) return nullptr;
  Communicator* entry = communicators.claim(key_of(communicator));
  if (entry == nullptr) {
    note_lost();
    return nullptr;
  }
  std::uint32_t current = entry->state.load(std::memory_order_acquire);
  if (current == state::kOpen) return entry;
  if (current != state::kCreated ||
      !entry->state.compare_exchange_strong(current, state::kOpening, std::memory_order_acq_rel)) {
    return nullptr;
  }
  const bool opened = open(*entry, communicator);
  entry->state.store(opened ? state::kOpen : state::kCreated, std::memory_order_release);
  return opened ? entry : nullptr;
}

void communicator_created(ncclComm_t communicator) noexcept {
  known_communicator(communicator);
}

void communicator_closing(ncclComm_t communicator, bool gone) noexcept {
  Communicator* entry = communicators.find(key_of(communicator));
  if (entry == nullptr) return;
  std::uint32_t open_state = state::kOpen;
  if (entry->state.compare_exchange_strong(open_state, state::kClosed, std::memory_order_acq_rel)) {
    Event event = event_of(EventKind::communicator_closed, entry->device.load(std::memory_order_relaxed));
    event.communicator = entry->id.load(std::memory_order_relaxed);
    finish_all(*entry, false);
    note(event);
    Depth inside(thread_state.inside_core);
    core()->communicator_closing(event.communicator);
  }
  if (!gone) return;
  entry->id.store(0, std::memory_order_relaxed);
  entry->state.store(state::kCreated, std::memory_order_relaxed);
  Table::release(*entry);
}

void communicator_idle(ncclComm_t communicator) noexcept {
  Communicator* entry = communicators.find(key_of(communicator));
  if (entry == nullptr) return;
  if (entry->state.load(std::memory_order_acquire) == state::kCreated) known_communicator(communicator);
  if (has_unfinished(*entry)) finish_all(*entry, true);
}

void group_unfinished(Communicator& communicator, GroupId group) noexcept {
  for (auto& place : communicator.unfinished) {
    GroupId none = 0;
    if (place.compare_exchange_strong(none, group, std::memory_order_acq_rel)) return;
  }
  note_lost();
  finish(group, false);
}

void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept {
  if (!has_unfinished(communicator)) return;
  ncclResult_t progress = ncclInProgress;
  Depth inside(thread_state.inside_nccl);
  const ncclResult_t result = real<Symbol::ncclCommGetAsyncError>()(handle, &progress);
  if (result == ncclSuccess && progress == ncclSuccess) finish_all(communicator, true);
}

}  // namespace weft
