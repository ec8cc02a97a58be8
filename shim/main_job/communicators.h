// Communicators of the main job: their numbers, and the loading of the core when the first one exists.
//
// Hooks of NCCL call this on the main job's threads, outside NCCL. Opening a communicator loads libweft-core.so and
// lets it prepare the device: the one place where a hook may take long or wait. It happens when the communicator is
// made or becomes ready, never in an operation: another stream may spin in NCCL then. A process without a communicator
// never gets here.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/routing/vendor.h"
#include "shim/seam/core_interface.h"

namespace weft {

enum class CommunicatorState : std::uint32_t {
  created = 0,  // not ready yet
  opening,
  open,
  closed,  // or never recorded, because there is no core
};

// One would do: a program has to wait until NCCL has launched a group before it calls it again, and before each group
// we ask. The others are for threads that do not. One more is counted as lost and taken for over at once.
inline constexpr std::uint32_t kUnfinished = 4;

struct Communicator {
  std::atomic<std::uint64_t> key;
  std::atomic<CommunicatorState> state;
  std::atomic<CommunicatorId> id;
  std::atomic<std::int32_t> device;
  // Groups that NCCL launches on a thread of its own (ncclInProgress): their done markers are still to be enqueued.
  std::atomic<GroupId> unfinished[kUnfinished];
};

// The communicator if it is open, else nullptr: it is not recorded (yet).
Communicator* open_communicator(ncclComm_t communicator) noexcept;

// A communicator exists from now on. `ready`: it is opened; else not before NCCL says that it has nothing in progress,
// because a question to one that is not ready is an error that NCCL remembers.
void communicator_created(ncclComm_t communicator, bool ready) noexcept;

// It is about to be finalized, destroyed or aborted. `gone`: the handle is invalid afterwards.
void communicator_closing(ncclComm_t communicator, bool gone) noexcept;

// NCCL said that it has nothing in progress: a communicator that was not ready is opened, also one that was not there
// yet when the call that makes it returned.
void communicator_idle(ncclComm_t communicator) noexcept;

// The group's launch was left to a thread of NCCL.
void group_unfinished(Communicator& communicator, GroupId group) noexcept;

// Asks NCCL about groups left unfinished; before the next operation on the communicator.
void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept;

}  // namespace weft
