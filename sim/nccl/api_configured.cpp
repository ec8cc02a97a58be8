// The collectives with a configuration of their own: it is checked, and then they are those without one, because the
// model has one way of doing a collective. Host threads.
#include "api.h"

using namespace simgpu::nccl;

namespace {

constexpr unsigned config_magic = 0xcafebeef;
constexpr size_t least_size = offsetof(ncclCollConfig_t, userProfilerTag) + sizeof(uint64_t);

// A configuration that is refused does not spoil the group, as in the real library.
ncclResult_t check(const ncclCollConfig_t* config) {
  if (config == nullptr) return ncclSuccess;
  if (config->size < least_size || config->magic != config_magic) {
    return fail(ncclInvalidArgument, "the configuration was not initialized with NCCL_COLLCONFIG_INITIALIZER");
  }
  if (config->forceAlgSelection == 0 || config->forceAlgSelection == 1) return ncclSuccess;
  return fail(ncclInvalidArgument, "forceAlgSelection has to be 0 or 1");
}

}  // namespace

SIMGPU_NCCL_API(ncclResult_t, ncclAllReduceConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclReduceConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root,
                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclReduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclBroadcastConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclBroadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclReduceScatterConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclReduceScatter(sendbuff, recvbuff, count, datatype, op, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclAllGatherConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                 cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclAllGather(sendbuff, recvbuff, count, datatype, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclAlltoAllConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                 cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclAlltoAll(sendbuff, recvbuff, count, datatype, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclGatherConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclGather(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

SIMGPU_NCCL_API(ncclResult_t, ncclScatterConfig,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream, const ncclCollConfig_t* config)) {
  if (const ncclResult_t result = check(config); result != ncclSuccess) return result;
  return pncclScatter(sendbuff, recvbuff, count, datatype, root, comm, stream);
}
