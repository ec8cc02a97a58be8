// An NCCL that is linked statically into a library of another name, as in torchcomms' ncclx: its functions are under
// other names here, so no preloaded library sees them. For unseen_nccl.c.
#pragma once

#include "nccl.h"

__attribute__((visibility("default"))) ncclResult_t static_id(ncclUniqueId* id);
__attribute__((visibility("default"))) ncclResult_t static_init(ncclComm_t* made, int ranks, ncclUniqueId id, int rank);
__attribute__((visibility("default"))) ncclResult_t static_send(const void* data, size_t bytes, int peer,
                                                                ncclComm_t communicator, cudaStream_t stream);
__attribute__((visibility("default"))) ncclResult_t static_receive(void* data, size_t bytes, int peer,
                                                                   ncclComm_t communicator, cudaStream_t stream);
__attribute__((visibility("default"))) ncclResult_t static_destroy(ncclComm_t communicator);
