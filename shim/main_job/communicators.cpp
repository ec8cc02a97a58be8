// Communicators of the main job; see communicators.h.
#include "shim/main_job/communicators.h"

#include "shim/activate.h"
#include "shim/main_job/annotations.h"
#include "shim/main_job/devices.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/real.h"
#include "shim/tables/handle_table.h"

namespace weft {
namespace {

constexpr std::uint32_t most_communicators = 1024;
using Table = HandleTable<Communicator, most_communicators>;
constinit Table communicators{};
constinit std::atomic<CommunicatorId> last_communicator{0};
constinit std::atomic<bool> someone_starts{false};

// Waiting for another thread that starts the core or opens a communicator: long enough for the trial of a fill job.
constexpr timespec pause_time{0, 500'000};
constexpr int most_pauses = 120'000;

std::uint64_t key_of(ncclComm_t communicator) noexcept {
  return reinterpret_cast<std::uint64_t>(communicator);
}

bool ask_nccl(ncclComm_t communicator, CommunicatorInfo& info) noexcept {
  Depth inside(thread_state.inside_nccl);
  return real<Symbol::ncclCommCuDevice>()(communicator, &info.device) == ncclSuccess &&
         real<Symbol::ncclCommUserRank>()(communicator, &info.rank) == ncclSuccess &&
         real<Symbol::ncclCommCount>()(communicator, &info.ranks) == ncclSuccess && info.device >= 0 &&
         info.device < most_devices;
}

void tell_core(const CommunicatorInfo& info) noexcept {
  CoreCall inside;
  core()->communicator_opened(info);
}

void tell_core(CommunicatorId closing) noexcept {
  CoreCall inside;
  core()->communicator_closing(closing);
}

// The communicator as the core knows it, where it was open until now; else 0. `ended`: what it still had, has ended or
// goes on until it does.
CommunicatorId closed(Communicator& entry, bool ended) noexcept {
  CommunicatorState open = CommunicatorState::open;
  if (!entry.state.compare_exchange_strong(open, CommunicatorState::closed, std::memory_order_acq_rel)) return 0;
  const CommunicatorId id = entry.id.load(std::memory_order_relaxed);
  entry.unfinished.finish_all(ended);
  forget_sequences(entry.sequences, id);
  return id;
}

// The handle is about to become invalid.
void release(Communicator& entry) noexcept {
  entry.id.store(0, std::memory_order_relaxed);
  entry.finalizing.store(false, std::memory_order_relaxed);
  entry.sequences.lost.store(false, std::memory_order_relaxed);
  entry.origin = {};
  entry.descent = {};
  entry.state.store(CommunicatorState::created, std::memory_order_relaxed);
  Table::release(entry);
}

// Threads that make the first communicators at the same time: one starts the core, the others wait for it. They may,
// because what they have made has no operation yet.
bool has_core() noexcept {
  for (int pause = 0; level() == Level::routed && pause < most_pauses; ++pause) {
    if (someone_starts.exchange(true, std::memory_order_acq_rel)) {
      nanosleep(&pause_time, nullptr);
      continue;
    }
    start_core();
    someone_starts.store(false, std::memory_order_release);
  }
  return level() == Level::observe;
}

// The state it is in afterwards.
CommunicatorState opened(Communicator& entry, ncclComm_t communicator) noexcept {
  CommunicatorInfo info{};
  if (!ask_nccl(communicator, info)) return CommunicatorState::created;
  if (!has_core()) return CommunicatorState::closed;
  note_device(info.device);
  info.id = last_communicator.fetch_add(1, std::memory_order_relaxed) + 1;
  info.shared_id = entry.origin.shared_id;
  info.name = entry.origin.name;
  entry.id.store(info.id, std::memory_order_relaxed);
  entry.device.store(info.device, std::memory_order_relaxed);
  tell_core(info);
  say_stage_again(info.device);
  return CommunicatorState::open;
}

void open(Communicator& entry, ncclComm_t communicator) noexcept {
  CommunicatorState created = CommunicatorState::created;
  if (entry.state.compare_exchange_strong(created, CommunicatorState::opening, std::memory_order_acq_rel)) {
    entry.state.store(opened(entry, communicator), std::memory_order_release);
    return;
  }
  // Another thread of the main job has asked NCCL at the same time: nobody may use it before it is open.
  for (int pause = 0; pause < most_pauses && entry.state.load(std::memory_order_acquire) == CommunicatorState::opening;
       ++pause) {
    nanosleep(&pause_time, nullptr);
  }
}

}  // namespace

Communicator* open_communicator(ncclComm_t communicator) noexcept {
  Communicator* entry = communicator == nullptr ? nullptr : communicators.find(key_of(communicator));
  return entry != nullptr && entry->state.load(std::memory_order_acquire) == CommunicatorState::open ? entry : nullptr;
}

void communicator_created(ncclComm_t communicator, const CommunicatorOrigin& origin, bool ready) noexcept {
  Communicator* entry = communicators.claim(key_of(communicator));
  if (entry == nullptr) return note_full("communicators");
  entry->origin = origin;
  if (ready) open(*entry, communicator);
}

CommunicatorId communicator_destroying(ncclComm_t communicator) noexcept {
  Communicator* entry = communicators.find(key_of(communicator));
  if (entry == nullptr) return 0;
  const CommunicatorId id = closed(*entry, true);
  release(*entry);
  return id;
}

void communicator_destroyed(CommunicatorId communicator) noexcept {
  if (communicator != 0) tell_core(communicator);
}

void communicator_finalizing(ncclComm_t communicator, bool ended) noexcept {
  Communicator* entry = communicators.find(key_of(communicator));
  if (entry == nullptr) return;
  if (ended) return communicator_destroyed(closed(*entry, true));
  entry->unfinished.finish_all(true);  // NCCL finalizes only what has launched all of them
  entry->finalizing.store(true, std::memory_order_release);
}

void communicator_aborting(ncclComm_t communicator, Aborting how) noexcept {
  Communicator* entry = communicators.find(key_of(communicator));
  if (entry == nullptr) return;
  // NCCL does not revoke what is being finalized.
  if (how == Aborting::revoked && entry->finalizing.load(std::memory_order_acquire)) return;
  const int device = entry->device.load(std::memory_order_relaxed);
  if (const CommunicatorId id = closed(*entry, false)) {
    note(EventKind::communicator_aborted, device, [id](Event& event) { event.communicator = id; });
    tell_core(id);
  }
  if (how == Aborting::aborted) release(*entry);
}

void communicator_idle(ncclComm_t communicator) noexcept {
  Communicator* entry = communicators.claim(key_of(communicator));
  if (entry == nullptr) return note_full("communicators");
  const CommunicatorState current = entry->state.load(std::memory_order_acquire);
  if (current == CommunicatorState::created || current == CommunicatorState::opening) open(*entry, communicator);
  entry->unfinished.finish_all(true);
  if (entry->finalizing.load(std::memory_order_acquire)) communicator_destroyed(closed(*entry, true));
}

CommunicatorOrigin split_off(ncclComm_t parent, int color, const ncclConfig_t* config, bool made) noexcept {
  Communicator* entry = communicators.find(key_of(parent));
  if (entry == nullptr) return origin_unknown(config);
  return origin_of_split(entry->origin.shared_id, entry->descent, color, config, made);
}

CommunicatorOrigin shrunk(ncclComm_t parent, const int* excluded, int count, const ncclConfig_t* config,
                          bool made) noexcept {
  Communicator* entry = communicators.find(key_of(parent));
  if (entry == nullptr) return origin_unknown(config);
  return origin_of_shrink(entry->origin.shared_id, entry->descent, excluded, count, config, made);
}

void operation_missed(ncclComm_t communicator) noexcept {
  if (Communicator* entry = communicators.find(key_of(communicator))) lose_sequences(entry->sequences);
}

void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept {
  if (!communicator.unfinished.any()) return;
  ncclResult_t progress = ncclInProgress;
  Depth inside(thread_state.inside_nccl);
  const ncclResult_t result = real<Symbol::ncclCommGetAsyncError>()(handle, &progress);
  if (result == ncclSuccess && progress == ncclSuccess) communicator.unfinished.finish_all(true);
}

}  // namespace weft
