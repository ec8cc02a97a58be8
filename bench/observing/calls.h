// The calls of a training, twice in one process: as a program under libweft.so gets them (the hooks), and as the
// driver and NCCL have them, past Weft. So observing can be switched between two iterations, and Weft knows nothing of
// it.
//
// Made once per process, on the main thread, before the first call of NCCL. Weft must see all of a group and of what
// waits for it, or nothing: switch only while the streams are empty.
#pragma once

#include <cuda.h>
#include <nccl.h>

namespace observing {

struct Calls {
#define OBSERVING_DRIVER_CALLS(CALL) \
  CALL(cuLaunchKernel) CALL(cuEventRecord) CALL(cuStreamWaitEvent) CALL(cuStreamSynchronize)
#define OBSERVING_NCCL_CALLS(CALL) \
  CALL(ncclGroupStart) CALL(ncclGroupEnd) CALL(ncclSend) CALL(ncclRecv) CALL(ncclAllReduce)
#define CALL(name) decltype(&::name) name = nullptr;
  OBSERVING_DRIVER_CALLS(CALL)
  OBSERVING_NCCL_CALLS(CALL)
#undef CALL
};

struct Ways {
  Calls hooked, direct;
  bool differ = false;  // libweft.so is here, and the hooks are others than the real functions
  // Not switched: each has a hook as well, and both kinds of iterations need it.
  decltype(&::ncclGetUniqueId) ncclGetUniqueId = nullptr;
  decltype(&::ncclCommInitRank) ncclCommInitRank = nullptr;
  decltype(&::ncclCommDestroy) ncclCommDestroy = nullptr;
};

// Throws std::runtime_error where a library or one of the names is missing.
Ways find_ways();

}  // namespace observing
