// Communicators of the main job: their numbers, and the loading of the core when the first one exists.
//
// Hooks of NCCL call this on the main job's threads, outside NCCL. Opening a communicator loads libweft-core.so and
// lets it prepare the device, and closing the last one of a device lets it finish: there a hook may take long or wait.
// It happens when a communicator is made or becomes ready, or when NCCL has closed it or is about to abort it, never in
// an operation: another stream may spin in NCCL then. A process without a communicator never gets here.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/main_job/communicator_origin.h"
#include "shim/main_job/group_log.h"
#include "shim/main_job/sequences.h"
#include "shim/routing/vendor.h"

namespace weft {

enum class CommunicatorState : std::uint32_t {
  created = 0,  // not ready yet
  opening,
  open,
  closed,  // or never recorded, because there is no core
};

struct Communicator {
  std::atomic<std::uint64_t> key;
  std::atomic<CommunicatorState> state;
  std::atomic<CommunicatorId> id;
  std::atomic<std::int32_t> device;
  std::atomic<bool> finalizing;  // closed as soon as it has nothing in progress
  UnfinishedGroups unfinished;
  Sequences sequences;
  // Written before it is opened, and by the hooks that make others of it.
  CommunicatorOrigin origin;
  Descent descent;
};

// The communicator if it is open, else nullptr: it is not recorded (yet).
Communicator* open_communicator(ncclComm_t communicator) noexcept;

// A communicator exists from now on. `ready`: it is opened; else not before NCCL says that it has nothing in progress,
// because a question to one that is not ready is an error that NCCL remembers.
void communicator_created(ncclComm_t communicator, const CommunicatorOrigin& origin, bool ready) noexcept;

// A communicator is about to be made of this one; see communicator_origin.h. `made`: NCCL has accepted the call.
CommunicatorOrigin split_off(ncclComm_t parent, int color, const ncclConfig_t* config, bool made) noexcept;
CommunicatorOrigin shrunk(ncclComm_t parent, const int* excluded, int count, const ncclConfig_t* config,
                          bool made) noexcept;

// An operation on it was not seen, so those that come cannot be counted.
void operation_missed(ncclComm_t communicator) noexcept;

// NCCL waits for its operations in the call that destroys it: the core is told after that, with what this returns
// before. 0: the core does not know it (any more). The handle may be another one's already when the call returns.
CommunicatorId communicator_destroying(ncclComm_t communicator) noexcept;
void communicator_destroyed(CommunicatorId communicator) noexcept;

// NCCL has accepted to finalize it; its operations may go on, and it is closed once they do not: now where `ended`, else
// when NCCL says so.
void communicator_finalizing(ncclComm_t communicator, bool ended) noexcept;

// It is about to be aborted, or to be revoked, after which the handle stays valid. Its operations are over.
enum class Aborting : std::uint8_t { aborted, revoked };
void communicator_aborting(ncclComm_t communicator, Aborting how) noexcept;

// NCCL said that it has nothing in progress: a communicator that was not ready is opened, also one that was not there
// yet when the call that makes it returned, and one that is being finalized is closed.
void communicator_idle(ncclComm_t communicator) noexcept;

// Asks NCCL about groups left unfinished; before the next operation on the communicator.
void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept;

}  // namespace weft
