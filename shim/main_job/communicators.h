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

// It is about to be closed in this way. Its operations go on where it is finalized or destroyed, and are over
// where it is aborted or revoked.
enum class Closing : std::uint8_t { finalized, destroyed, aborted, revoked };
void communicator_closing(ncclComm_t communicator, Closing how) noexcept;

// NCCL said that it has nothing in progress: a communicator that was not ready is opened, also one that was not there
// yet when the call that makes it returned.
void communicator_idle(ncclComm_t communicator) noexcept;

// Asks NCCL about groups left unfinished; before the next operation on the communicator.
void finish_groups(Communicator& communicator, ncclComm_t handle) noexcept;

}  // namespace weft
