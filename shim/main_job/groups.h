// One outermost NCCL group per thread, while it is open: what its operations add up to, and the markers around it. Once
// it is announced it is in group_log.h.
//
// Hooks of NCCL only. A bare operation is a group of one. Records come from a fixed pool. A thread that finds none, and
// what one group has on other communicators and streams than those that fit, are not seen: note_full() says so once,
// and the core ends filling. A marker that cannot be enqueued is counted as lost. Nothing here allocates or locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "detector/event.h"
#include "shim/routing/vendor.h"

namespace weft {

struct OperationCall {
  Operation kind;
  std::int32_t peer;  // the root of a collective that has one, else -1
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t communicator;
  cudaStream_t stream;
};

struct Stream;
struct Communicator;
struct CommunicatorOrigin;

// The operations of one group on one communicator and one stream. NCCL makes each of the streams wait for all of them,
// so those of another stream of the same communicator are noted as a group of their own.
struct GroupMember {
  Communicator* communicator;
  ncclComm_t handle;
  cudaStream_t stream_argument;
  GroupSummary summary;
  Stream* stream;  // nullptr: not announced
  GroupId group;
  Ticket done;
  bool is_ordered;        // CUDA orders its stream with others (StreamOrder)
  bool launches_counted;  // then: before the call
  std::uint32_t launches;
  // The first so many operations, each as it will be noted; of more only the sums are known.
  IssuedOperation* operations;
  std::uint32_t most_operations;
  std::uint32_t operations_kept;
};

// A bare operation: added before the real call, announced, closed after it, and shown to the core behind that, where it
// wants to see who called (call_sites.h).
void add_operation(GroupMember& member, const OperationCall& call) noexcept;
void announce_member(GroupMember& member) noexcept;
void close_member(GroupMember& member, ncclResult_t result) noexcept;
void show_member(const GroupMember& member) noexcept;

// The open group of the calling thread. Its depth is kept from the first hooked call on.
bool in_group() noexcept;
void group_started() noexcept;
void operation_added(const OperationCall& call) noexcept;
void announce_group() noexcept;  // before the real end; does nothing unless it is the outermost one
void group_ended(ncclResult_t result) noexcept;
void group_dropped() noexcept;  // ncclGroupSimulateEnd: nothing is launched

// A communicator that is made inside the group can be used when the group has ended. Either its handle is there already
// or NCCL will write it to `place`.
void communicator_promised(ncclComm_t communicator, ncclComm_t* place, const CommunicatorOrigin& origin) noexcept;

// The call that destroys it has returned (communicators.h). In a group NCCL waits for its operations at the group's
// end.
void communicator_ends(CommunicatorId communicator) noexcept;

}  // namespace weft
