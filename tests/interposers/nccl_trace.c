// Traces NCCL: exports a few of its functions and finds the real ones with RTLD_NEXT, when they are first called;
// with SECOND_NAMES by the names that NCCL has for the purpose, pncclX.
#include "interposer.h"

#ifdef SECOND_NAMES
#define REAL_NAME(name) "p" #name
#else
#define REAL_NAME(name) #name
#endif

#define TRACED(name, parameters, arguments)                                                              \
  EXPORTED ncclResult_t name parameters {                                                                \
    static __typeof__(&name) real;                                                                       \
    if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, REAL_NAME(name));                        \
    if (real == NULL) real = (__typeof__(real))dlsym(dlopen("libnccl.so.2", RTLD_NOW), REAL_NAME(name)); \
    count_call();                                                                                        \
    return real arguments;                                                                               \
  }
TRACED(ncclSend, (const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
       (data, count, type, peer, comm, stream))
TRACED(ncclRecv, (void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream),
       (data, count, type, peer, comm, stream))
TRACED(ncclGroupStart, (void), ())
TRACED(ncclGroupEnd, (void), ())
