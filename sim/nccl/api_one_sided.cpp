// Puts, signals and waits for signals: arguments in, Calls out. A put is a message on a link of its own, and a wait
// takes as many messages from there as it waits for signals. Host threads.
#include "api.h"
#include "group.h"

using namespace simgpu::nccl;

namespace {

ncclResult_t check(const char* name, ncclComm_t communicator, int peer, int signal, int context) {
  if (peer < 0 || peer >= communicator->ranks())
    return fail(ncclInvalidArgument, "%s: there is no rank %d", name, peer);
  if (signal == 0 && context == 0) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s: there is no signal but 0 and no context but 0", name);
}

Call one_sided(Call::Kind kind, int peer, ncclComm_t communicator, CUstream stream) {
  Call call;
  call.communicator = communicator;
  call.stream = stream;
  call.kind = kind;
  call.transfer.kind = LinkKind::one_sided;
  call.transfer.peer = peer;
  return call;
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclPutSignal,
                (const void* localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
                 size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream)) {
  const char* const name = "ncclPutSignal";
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if (const ncclResult_t result = check(name, comm, peer, sigIdx, ctx); result != ncclSuccess) {
    return group_failed(result);
  }
  if (!valid_type(datatype) || flags != 0) {
    return group_failed(fail(ncclInvalidArgument, "%s: no such element type, or flags", name));
  }
  const size_t bytes = count * size_of(datatype);
  if (peerWin == nullptr || localbuff == nullptr || !comm->endpoint()->in_window(localbuff, bytes)) {
    return group_failed(
        fail(ncclInvalidArgument, "%s: the buffer and the place it goes to have to be in windows", name));
  }
  Call call = one_sided(Call::Kind::send, peer, comm, stream);
  call.transfer.buffer = const_cast<void*>(localbuff);
  call.transfer.bytes = bytes;
  call.transfer.window = number_of(peerWin);
  call.transfer.offset = peerWinOffset;
  return submit(std::move(call));
}

SIMGPU_NCCL_API(ncclResult_t, ncclSignal,
                (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream)) {
  const char* const name = "ncclSignal";
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if (const ncclResult_t result = check(name, comm, peer, sigIdx, ctx); result != ncclSuccess) {
    return group_failed(result);
  }
  if (flags != 0) return group_failed(fail(ncclInvalidArgument, "%s: the flags must be 0", name));
  return submit(one_sided(Call::Kind::send, peer, comm, stream));
}

SIMGPU_NCCL_API(ncclResult_t, ncclWaitSignal,
                (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream)) {
  const char* const name = "ncclWaitSignal";
  if (const ncclResult_t result = check_ready(comm, name); result != ncclSuccess) return group_failed(result);
  if (nDesc <= 0 || signalDescs == nullptr) return group_failed(fail(ncclInvalidArgument, "%s: no signals", name));
  for (int index = 0; index < nDesc; ++index) {
    const ncclWaitSignalDesc_t& wanted = signalDescs[index];
    ncclResult_t result = check(name, comm, wanted.peer, wanted.sigIdx, wanted.ctx);
    if (wanted.opCnt <= 0) result = fail(ncclInvalidArgument, "%s: %d signals are not possible", name, wanted.opCnt);
    if (result != ncclSuccess) return group_failed(result);
  }
  group_start();
  for (int index = 0; index < nDesc; ++index) {
    for (int count = 0; count < signalDescs[index].opCnt; ++count) {
      submit(one_sided(Call::Kind::receive, signalDescs[index].peer, comm, stream));
    }
  }
  return group_end();
}
