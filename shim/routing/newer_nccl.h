// Functions and types of NCCL from 2.29 to 2.31 that are hooked or simulated, for an nccl.h that is older than they
// are.
//
// Included behind nccl.h by the shim (vendor.h), by the simulated NCCL and by the tests; C or C++. Each function is
// declared here whatever nccl.h has: beside one that declares it too, the compiler refuses a second type. Types exist
// once; their layout, which is the ABI, is asserted in both cases. The guards say in which release a name came.
#pragma once

#include <assert.h>
#include <nccl.h>
#include <stddef.h>
#include <stdint.h>

// 2.29.2: signals to wait for, by the rank that gives them.
#if NCCL_VERSION_CODE < 22902
typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;
#endif
static_assert(offsetof(ncclWaitSignalDesc_t, opCnt) == 0 && offsetof(ncclWaitSignalDesc_t, peer) == 4 &&
                  offsetof(ncclWaitSignalDesc_t, sigIdx) == 8 && offsetof(ncclWaitSignalDesc_t, ctx) == 12 &&
                  sizeof(ncclWaitSignalDesc_t) == 16,
              "ncclWaitSignalDesc_t has another layout");

// 2.29.7
#ifndef NCCL_SUSPEND_MEM
#define NCCL_SUSPEND_MEM 0x01
#endif
static_assert(NCCL_SUSPEND_MEM == 1, "NCCL_SUSPEND_MEM has another value");

// 2.31.2: of one collective. It may grow at its end, so a caller writes its size into it.
#ifndef NCCL_COLLCONFIG_INITIALIZER
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  void* ext;
  int minCTAs;
  int maxCTAs;
  int nvlsCTAs;
  int cgaClusterSize;
  const char* algSelection;
  int forceAlgSelection;
  int CTAPolicy;
  uint64_t userProfilerTag;
} ncclCollConfig_t;
#define NCCL_COLLCONFIG_INITIALIZER                                                                  \
  {                                                                                                  \
    sizeof(ncclCollConfig_t), 0xcafebeef, 23102, NULL, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NULL, 1, NCCL_CONFIG_UNDEF_INT, 0              \
  }
#endif
static_assert(offsetof(ncclCollConfig_t, size) == 0 && offsetof(ncclCollConfig_t, magic) == 8 &&
                  offsetof(ncclCollConfig_t, version) == 12 && offsetof(ncclCollConfig_t, ext) == 16 &&
                  offsetof(ncclCollConfig_t, minCTAs) == 24 && offsetof(ncclCollConfig_t, maxCTAs) == 28 &&
                  offsetof(ncclCollConfig_t, nvlsCTAs) == 32 && offsetof(ncclCollConfig_t, cgaClusterSize) == 36 &&
                  offsetof(ncclCollConfig_t, algSelection) == 40 &&
                  offsetof(ncclCollConfig_t, forceAlgSelection) == 48 && offsetof(ncclCollConfig_t, CTAPolicy) == 52 &&
                  offsetof(ncclCollConfig_t, userProfilerTag) == 56 && sizeof(ncclCollConfig_t) >= 64,
              "ncclCollConfig_t has another layout");

#ifdef __cplusplus
extern "C" {
#endif

// 2.29.2
ncclResult_t ncclPutSignal(const void* data, size_t count, ncclDataType_t type, int peer, ncclWindow_t window,
                           size_t offset, int signal, int context, unsigned int flags, ncclComm_t communicator,
                           cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags, ncclComm_t communicator,
                        cudaStream_t stream);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t* signals, ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclCommGetUniqueId(ncclComm_t communicator, ncclUniqueId* id);
ncclResult_t ncclCommGrow(ncclComm_t parent, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* communicator,
                          ncclConfig_t* config);

// 2.29.7
ncclResult_t ncclCommSuspend(ncclComm_t communicator, int flags);
ncclResult_t ncclCommResume(ncclComm_t communicator);

// 2.31.2
ncclResult_t ncclAllReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                                 ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclReduceConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                              int root, ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclBroadcastConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclReduceScatterConfig(const void* in, void* out, size_t count, ncclDataType_t type,
                                     ncclRedOp_t reduction, ncclComm_t communicator, cudaStream_t stream,
                                     const ncclCollConfig_t* config);
ncclResult_t ncclAllGatherConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                                 cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAlltoAllConfig(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t communicator,
                                cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclGatherConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                              ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclScatterConfig(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                               ncclComm_t communicator, cudaStream_t stream, const ncclCollConfig_t* config);

#ifdef __cplusplus
}
#endif
