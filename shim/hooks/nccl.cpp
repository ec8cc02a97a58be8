// The hooks of NCCL. Each notes what it sees, calls the real function with the arguments as they are, and returns its
// result as it is. Any thread of the main job. NCCL calls some of its own exports through the PLT, so a hook can be
// entered from inside NCCL: the depth tells, and such a call is not noted.
#include "shim/caller.h"
#include "shim/main_job/communicators.h"
#include "shim/main_job/groups.h"
#include "shim/main_job/quiet_gate.h"
#include "shim/routing/real.h"

namespace weft {
namespace {

bool noting() noexcept {
  return level() != Level::pass && is_outer_call();
}

bool accepted(ncclResult_t result) noexcept {
  return result == ncclSuccess || result == ncclInProgress;
}

template <class Call>
ncclResult_t call_nccl(Call call) noexcept {
  Depth inside(thread_state.inside_nccl);
  return call();
}

// Between its markers, and past the gate.
template <class Call>
ncclResult_t issue(GroupMember& member, Call call) noexcept {
  const GatePass pass(true);
  announce_member(member);
  const ncclResult_t result = call_nccl(call);
  close_member(member, result);
  return result;
}

// A send, receive or collective: part of the open group, or a group of one.
template <class Call>
ncclResult_t operation(const OperationCall& what, Call call) noexcept {
  if (!noting()) return call_nccl(call);
  if (in_group()) {
    const ncclResult_t result = call_nccl(call);
    if (accepted(result)) operation_added(what);
    return result;
  }
  IssuedOperation only;
  GroupMember bare{};
  bare.operations = &only;
  bare.most_operations = 1;
  add_operation(bare, what);
  const ncclResult_t result = issue(bare, call);
  show_member(bare);
  return result;
}

// Makes a communicator and puts it where `place` points: at once, or (`late`) when the group has ended. `origin` says
// where it comes from, and is asked about calls that NCCL has refused as well.
template <class Origin, class Call>
ncclResult_t creation(ncclComm_t* place, bool late, Origin origin, Call call) noexcept {
  const ncclResult_t result = call_nccl(call);
  if (!noting()) return result;
  const CommunicatorOrigin from = origin(accepted(result));
  if (!accepted(result) || place == nullptr) return result;
  if (in_group()) {
    communicator_promised(late ? nullptr : *place, late ? place : nullptr, from);
  } else if (*place != nullptr) {
    communicator_created(*place, from, result == ncclSuccess);
  }
  return result;
}

void aborting(ncclComm_t communicator, Aborting how) noexcept {
  if (noting()) communicator_aborting(communicator, how);
}

}  // namespace
}  // namespace weft

using namespace weft;

extern "C" {

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  const auto call = real<Symbol::ncclSend>();
  return operation({Operation::send, peer, count, type, communicator, stream},
                   [=] { return call(data, count, type, peer, communicator, stream); });
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  const auto call = real<Symbol::ncclRecv>();
  return operation({Operation::receive, peer, count, type, communicator, stream},
                   [=] { return call(data, count, type, peer, communicator, stream); });
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclAllReduce>();
  return operation({Operation::all_reduce, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, communicator, stream); });
}

ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclReduce>();
  return operation({Operation::reduce, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, root, communicator, stream); });
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclBroadcast>();
  return operation({Operation::broadcast, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream); });
}

ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                       cudaStream_t stream) {
  const auto call = real<Symbol::ncclBcast>();
  return operation({Operation::broadcast, root, count, type, communicator, stream},
                   [=] { return call(data, count, type, root, communicator, stream); });
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclReduceScatter>();
  return operation({Operation::reduce_scatter, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, communicator, stream); });
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  const auto call = real<Symbol::ncclAllGather>();
  return operation({Operation::all_gather, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, communicator, stream); });
}

ncclResult_t ncclAlltoAll(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                          cudaStream_t stream) {
  const auto call = real<Symbol::ncclAlltoAll>();
  return operation({Operation::all_to_all, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, communicator, stream); });
}

ncclResult_t ncclGather(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                        cudaStream_t stream) {
  const auto call = real<Symbol::ncclGather>();
  return operation({Operation::gather, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream); });
}

ncclResult_t ncclScatter(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                         ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclScatter>();
  return operation({Operation::scatter, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream); });
}

ncclResult_t ncclAllReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                                 ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclAllReduceConfig>();
  return operation({Operation::all_reduce, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, communicator, stream, config); });
}

ncclResult_t ncclReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                              int root, ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclReduceConfig>();
  return operation({Operation::reduce, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, root, communicator, stream, config); });
}

ncclResult_t ncclBroadcastConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclBroadcastConfig>();
  return operation({Operation::broadcast, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream, config); });
}

ncclResult_t ncclReduceScatterConfig(const void* in, void* out, size_t count, ncclDataType_t type,
                                     ncclRedOp_t reduction, ncclComm_t communicator, cudaStream_t stream,
                                     const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclReduceScatterConfig>();
  return operation({Operation::reduce_scatter, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, reduction, communicator, stream, config); });
}

ncclResult_t ncclAllGatherConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclAllGatherConfig>();
  return operation({Operation::all_gather, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, communicator, stream, config); });
}

ncclResult_t ncclAlltoAllConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                                cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclAlltoAllConfig>();
  return operation({Operation::all_to_all, -1, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, communicator, stream, config); });
}

ncclResult_t ncclGatherConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                              ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclGatherConfig>();
  return operation({Operation::gather, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream, config); });
}

ncclResult_t ncclScatterConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                               ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config) {
  const auto call = real<Symbol::ncclScatterConfig>();
  return operation({Operation::scatter, root, count, type, communicator, stream},
                   [=] { return call(in, out, count, type, root, communicator, stream, config); });
}

// One-sided: nobody receives, so a group that puts is a send, and one that waits for the signals of others a receive.
ncclResult_t ncclPutSignal(const void* data, size_t count, ncclDataType_t type, int peer, ncclWindow_t window,
                           size_t offset, int signal, int context, unsigned int flags, ncclComm_t communicator,
                           cudaStream_t stream) {
  const auto call = real<Symbol::ncclPutSignal>();
  return operation({Operation::put, peer, count, type, communicator, stream}, [=] {
    return call(data, count, type, peer, window, offset, signal, context, flags, communicator, stream);
  });
}

ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags, ncclComm_t communicator,
                        cudaStream_t stream) {
  const auto call = real<Symbol::ncclSignal>();
  return operation({Operation::put, peer, 0, ncclInt8, communicator, stream},
                   [=] { return call(peer, signal, context, flags, communicator, stream); });
}

// How many bytes come with the signals is not known here. Of several ranks the first one counts as the peer.
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t* signals, ncclComm_t communicator, cudaStream_t stream) {
  const auto call = real<Symbol::ncclWaitSignal>();
  const int peer = count > 0 && signals != nullptr ? signals[0].peer : -1;
  return operation({Operation::wait_signals, peer, 0, ncclInt8, communicator, stream},
                   [=] { return call(count, signals, communicator, stream); });
}

ncclResult_t ncclGroupStart(void) {
  const auto call = real<Symbol::ncclGroupStart>();
  const ncclResult_t result = call_nccl(call);
  if (result == ncclSuccess && noting()) group_started();
  return result;
}

ncclResult_t ncclGroupEnd(void) {
  const auto call = real<Symbol::ncclGroupEnd>();
  const bool mine = noting();
  const auto launch = [&] {
    const GatePass pass(mine);
    if (mine) announce_group();
    return call_nccl(call);
  };
  const ncclResult_t result = launch();
  if (mine) group_ended(result);
  return result;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* information) {
  const auto call = real<Symbol::ncclGroupSimulateEnd>();
  const ncclResult_t result = call_nccl([=] { return call(information); });
  if (noting()) group_dropped();
  return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  const auto call = real<Symbol::ncclCommInitRank>();
  return creation(
      communicator, false, [&](bool) { return origin_of_ids(&id, 1, nullptr); },
      [&] { return call(communicator, ranks, id, rank); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const auto call = real<Symbol::ncclCommInitRankConfig>();
  return creation(
      communicator, false, [&](bool) { return origin_of_ids(&id, 1, config); },
      [&] { return call(communicator, ranks, id, rank, config); });
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int ranks, int rank, int ids, ncclUniqueId* id,
                                      ncclConfig_t* config) {
  const auto call = real<Symbol::ncclCommInitRankScalable>();
  return creation(
      communicator, false, [&](bool) { return origin_of_ids(id, ids, config); },
      [&] { return call(communicator, ranks, rank, ids, id, config); });
}

ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int devices, const int* list) {
  const auto call = real<Symbol::ncclCommInitAll>();
  const ncclResult_t result = call_nccl([=] { return call(communicators, devices, list); });
  if (result != ncclSuccess || !noting() || communicators == nullptr) return result;
  const CommunicatorOrigin origin = origin_in_process();
  for (int index = 0; index < devices; ++index) communicator_created(communicators[index], origin, true);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* communicator, ncclConfig_t* config) {
  const auto call = real<Symbol::ncclCommSplit>();
  return creation(
      communicator, true, [&](bool made) { return split_off(parent, color, config, made); },
      [&] { return call(parent, color, key, communicator, config); });
}

ncclResult_t ncclCommShrink(ncclComm_t parent, int* excluded, int count, ncclComm_t* communicator, ncclConfig_t* config,
                            int flags) {
  const auto call = real<Symbol::ncclCommShrink>();
  return creation(
      communicator, true, [&](bool made) { return shrunk(parent, excluded, count, config, made); },
      [&] { return call(parent, excluded, count, communicator, config, flags); });
}

// The rank is -1 in a rank of the parent, and there is no parent in one that joins.
ncclResult_t ncclCommGrow(ncclComm_t parent, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* communicator,
                          ncclConfig_t* config) {
  const auto call = real<Symbol::ncclCommGrow>();
  return creation(
      communicator, true, [&](bool) { return origin_unknown(config); },
      [&] { return call(parent, ranks, id, rank, communicator, config); });
}

// A suspended communicator stays open: it is the same one when it is resumed, and has no operations until then. The two
// are hooked because NCCL waits for the device in them, which is no host wait of the main job's.
ncclResult_t ncclCommSuspend(ncclComm_t communicator, int flags) {
  const auto call = real<Symbol::ncclCommSuspend>();
  return call_nccl([=] { return call(communicator, flags); });
}

ncclResult_t ncclCommResume(ncclComm_t communicator) {
  const auto call = real<Symbol::ncclCommResume>();
  return call_nccl([=] { return call(communicator); });
}

// In a group, and in a communicator that does not block, NCCL has not waited for anything yet.
ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const auto call = real<Symbol::ncclCommFinalize>();
  const ncclResult_t result = call_nccl([=] { return call(communicator); });
  if (noting() && accepted(result)) communicator_finalizing(communicator, result == ncclSuccess && !in_group());
  return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const auto call = real<Symbol::ncclCommDestroy>();
  const CommunicatorId known = noting() ? communicator_destroying(communicator) : 0;
  const ncclResult_t result = call_nccl([=] { return call(communicator); });
  if (level() != Level::pass) communicator_ends(known);
  return result;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  const auto call = real<Symbol::ncclCommAbort>();
  aborting(communicator, Aborting::aborted);
  return call_nccl([=] { return call(communicator); });
}

ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags) {
  const auto call = real<Symbol::ncclCommRevoke>();
  aborting(communicator, Aborting::revoked);
  return call_nccl([=] { return call(communicator, flags); });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  const auto call = real<Symbol::ncclCommGetAsyncError>();
  const ncclResult_t result = call_nccl([=] { return call(communicator, error); });
  if (result == ncclSuccess && error != nullptr && *error == ncclSuccess && noting()) communicator_idle(communicator);
  return result;
}

}  // extern "C"
