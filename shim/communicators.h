// Communicators of the main job: their numbers, and the loading of the core when the first one exists.
//
// Hooks of NCCL call this on the main job's threads, outside NCCL. Opening the first communicator loads libweft-core.so
// and lets it prepare the device: the one place where a hook may take long. A process without a communicator never gets
// here.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/core_interface.h"
#include "shim/vendor.h"

namespace weft {

inline constexpr std::uint32_t kUnfinished = 4;

struct Communicator {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint32_t> state;  // one of CommunicatorState
  std::atomic<CommunicatorId> id;
  std::atomic<std::int32_t> device;
  // Groups that NCCL launches on a thread of its own (ncclInProgress): their done markers are still to be enqueued.
  std::atomic<GroupId> unfinished[kUnfinished];
};

// The communicator, opened now if it has not been; nullptr: it cannot be recorded (yet).
Communicator* known_communicator(ncclComm_t communicator) noexcept;

// A communicator exists from now on, perhaps not ready yet.
void communicator_created(ncclComm_t communicator) noexcept;

// It is about to be finalized, destroyed or aborted. `gone`: the handle is invalid afterwards.
void communicator_closing(ncclComm_t communicator, bool gone) noexcept;

// NCCL said that it has nothing in progress.
void communicator_idle(ncclComm_t communicator) noexcept;

// The group's launch was left to a thread of NCCL.
void group_unfinished(Communicator& communicator, GroupId group) noexcept;

// Asks NCCL about groups left unfinished; before the next operation on the communicator.
void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept;

// nullptr while there is no core.
const CoreServices* core() noexcept;

// The libweft-core.so next to this library is started; false: it cannot be, which has been said.
bool start_core() noexcept;

}  // namespace weft
