// Sends, receives and collectives: arguments in, one Call per operation out. Host threads.
#include <cstring>

#include "api.h"
#include "group.h"

using namespace simgpu::nccl;

namespace {

ncclResult_t transfer(const char* name, Call::Kind kind, void* buffer, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  if (const ncclResult_t result = check_ready(communicator, name); result != ncclSuccess) return group_failed(result);
  if (!valid_type(type)) return group_failed(fail(ncclInvalidArgument, "%s: no such element type", name));
  if (peer < 0 || peer >= communicator->ranks()) {
    return group_failed(fail(ncclInvalidArgument, "%s: there is no rank %d", name, peer));
  }
  if (count > 0 && buffer == nullptr) return group_failed(check_pointer(buffer, name, "the buffer"));
  Call call;
  call.communicator = communicator;
  call.stream = stream;
  call.kind = kind;
  call.transfer.peer = peer;
  call.transfer.buffer = buffer;
  call.transfer.bytes = count * size_of(type);
  return submit(std::move(call));
}

ncclResult_t send(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                  cudaStream_t stream) {
  return transfer("ncclSend", Call::Kind::send, const_cast<void*>(buffer), count, type, peer, communicator, stream);
}

ncclResult_t receive(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                     cudaStream_t stream) {
  return transfer("ncclRecv", Call::Kind::receive, buffer, count, type, peer, communicator, stream);
}

struct Arguments {
  const char* name;
  CollectiveKind kind;
  const void* send;
  void* receive;
  size_t count;
  ncclDataType_t type;
  int root;
  ncclComm_t communicator;
  cudaStream_t stream;
};

ncclResult_t check(const Arguments& arguments) {
  const auto& [name, kind, send_buffer, receive_buffer, count, type, root, communicator, stream] = arguments;
  if (const ncclResult_t result = check_ready(communicator, name); result != ncclSuccess) return result;
  if (!valid_type(type)) return fail(ncclInvalidArgument, "%s: no such element type", name);
  if (root < 0 || root >= communicator->ranks()) {
    return fail(ncclInvalidArgument, "%s: there is no rank %d to be the root", name, root);
  }
  if (count == 0) return ncclSuccess;
  const bool is_root = communicator->rank() == root;
  const bool sends = kind != CollectiveKind::broadcast || is_root;
  const bool receives = kind != CollectiveKind::reduce || is_root;
  if (sends && send_buffer == nullptr) return check_pointer(send_buffer, name, "the send buffer");
  return receives ? check_pointer(receive_buffer, name, "the receive buffer") : ncclSuccess;
}

ncclResult_t collective(const Arguments& arguments, const ncclRedOp_t* reduction = nullptr) {
  if (const ncclResult_t result = check(arguments); result != ncclSuccess) return group_failed(result);
  Call call;
  if (reduction != nullptr) {
    const ncclResult_t result =
        find_operation(*reduction, arguments.type, arguments.communicator, arguments.name, &call.collective.operation);
    if (result != ncclSuccess) return group_failed(result);
  }
  if (arguments.count == 0) return ncclSuccess;
  call.communicator = arguments.communicator;
  call.stream = arguments.stream;
  call.collective.kind = arguments.kind;
  call.collective.send = arguments.send;
  call.collective.receive = arguments.receive;
  call.collective.count = arguments.count;
  call.collective.type = arguments.type;
  call.collective.root = arguments.root;
  return submit(std::move(call));
}

// AlltoAll, Gather and Scatter are groups of sends and receives, as in the real library.
struct Pieces {
  const char* name;
  const char* send;
  char* receive;
  size_t count;
  ncclDataType_t type;
  ncclComm_t communicator;
  cudaStream_t stream;

  size_t bytes() const { return count * size_of(type); }
};

ncclResult_t check(const Pieces& pieces, int root) {
  if (const ncclResult_t result = check_ready(pieces.communicator, pieces.name); result != ncclSuccess) return result;
  if (!valid_type(pieces.type)) return fail(ncclInvalidArgument, "%s: no such element type", pieces.name);
  if (root >= 0 && root < pieces.communicator->ranks()) return ncclSuccess;
  return fail(ncclInvalidArgument, "%s: there is no rank %d to be the root", pieces.name, root);
}

// give(peer) and take(peer) are the places of the data in the buffers; a negative one means none.
template <class Give, class Take>
ncclResult_t exchange(const Pieces& pieces, int root, Give give, Take take) {
  if (const ncclResult_t result = check(pieces, root); result != ncclSuccess) return group_failed(result);
  if (pieces.count == 0) return ncclSuccess;
  group_start();
  for (int peer = 0; peer < pieces.communicator->ranks(); ++peer) {
    if (const int place = give(peer); place >= 0) {
      send(pieces.send + static_cast<size_t>(place) * pieces.bytes(), pieces.count, pieces.type, peer,
           pieces.communicator, pieces.stream);
    }
    if (const int place = take(peer); place >= 0) {
      receive(pieces.receive + static_cast<size_t>(place) * pieces.bytes(), pieces.count, pieces.type, peer,
              pieces.communicator, pieces.stream);
    }
  }
  return group_end();
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclSend,
                (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                 cudaStream_t stream)) {
  return send(sendbuff, count, datatype, peer, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclRecv,
                (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                 cudaStream_t stream)) {
  return receive(recvbuff, count, datatype, peer, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclAllReduce,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                 ncclComm_t comm, cudaStream_t stream)) {
  return collective({"ncclAllReduce", CollectiveKind::all_reduce, sendbuff, recvbuff, count, datatype, 0, comm, stream},
                    &op);
}

SIMGPU_NCCL_API(ncclResult_t, ncclReduce,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root,
                 ncclComm_t comm, cudaStream_t stream)) {
  return collective({"ncclReduce", CollectiveKind::reduce, sendbuff, recvbuff, count, datatype, root, comm, stream},
                    &op);
}

SIMGPU_NCCL_API(ncclResult_t, ncclReduceScatter,
                (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op,
                 ncclComm_t comm, cudaStream_t stream)) {
  return collective(
      {"ncclReduceScatter", CollectiveKind::reduce_scatter, sendbuff, recvbuff, recvcount, datatype, 0, comm, stream},
      &op);
}

SIMGPU_NCCL_API(ncclResult_t, ncclAllGather,
                (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,
                 cudaStream_t stream)) {
  return collective(
      {"ncclAllGather", CollectiveKind::all_gather, sendbuff, recvbuff, sendcount, datatype, 0, comm, stream});
}

SIMGPU_NCCL_API(ncclResult_t, ncclBroadcast,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream)) {
  return collective(
      {"ncclBroadcast", CollectiveKind::broadcast, sendbuff, recvbuff, count, datatype, root, comm, stream});
}

SIMGPU_NCCL_API(ncclResult_t, ncclBcast,
                (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclAlltoAll,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                 cudaStream_t stream)) {
  const Pieces pieces{
      "ncclAlltoAll", static_cast<const char*>(sendbuff), static_cast<char*>(recvbuff), count, datatype, comm, stream};
  const auto piece = [](int peer) { return peer; };
  return exchange(pieces, 0, piece, piece);
}

SIMGPU_NCCL_API(ncclResult_t, ncclGather,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream)) {
  const Pieces pieces{
      "ncclGather", static_cast<const char*>(sendbuff), static_cast<char*>(recvbuff), count, datatype, comm, stream};
  return exchange(
      pieces, root, [root](int peer) { return peer == root ? 0 : -1; },
      [root, comm](int peer) { return comm->rank() == root ? peer : -1; });
}

SIMGPU_NCCL_API(ncclResult_t, ncclScatter,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream)) {
  const Pieces pieces{
      "ncclScatter", static_cast<const char*>(sendbuff), static_cast<char*>(recvbuff), count, datatype, comm, stream};
  return exchange(
      pieces, root, [root, comm](int peer) { return comm->rank() == root ? peer : -1; },
      [root](int peer) { return peer == root ? 0 : -1; });
}

SIMGPU_NCCL_API(ncclResult_t, ncclGroupStart, ()) {
  return group_start();
}

SIMGPU_NCCL_API(ncclResult_t, ncclGroupEnd, ()) {
  return group_end();
}

SIMGPU_NCCL_API(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t*)) {
  if (const ncclResult_t result = group_drop(); result != ncclSuccess) return result;
  return fail(ncclInvalidUsage, "ncclGroupSimulateEnd is not supported by the simulated NCCL");
}
