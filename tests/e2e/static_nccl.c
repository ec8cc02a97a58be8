// See static_nccl.h. Linked with the sources of the simulated NCCL, none of whose own names it exports.
#include "static_nccl.h"

ncclResult_t static_id(ncclUniqueId* id) {
  return ncclGetUniqueId(id);
}

ncclResult_t static_init(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRank(made, ranks, id, rank);
}

ncclResult_t static_send(const void* data, size_t bytes, int peer, ncclComm_t communicator, cudaStream_t stream) {
  return ncclSend(data, bytes, ncclInt8, peer, communicator, stream);
}

ncclResult_t static_receive(void* data, size_t bytes, int peer, ncclComm_t communicator, cudaStream_t stream) {
  return ncclRecv(data, bytes, ncclInt8, peer, communicator, stream);
}

ncclResult_t static_destroy(ncclComm_t communicator) {
  return ncclCommDestroy(communicator);
}
