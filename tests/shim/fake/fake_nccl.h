// An NCCL for tests of the shim: a group is one block on the first stream it names per communicator (see fake_cuda.h).
//
// Every API is a weak ncclX and a strong pncclX at one address, as in the real library.
#pragma once

#include "shim/routing/vendor.h"

extern "C" {
#pragma GCC visibility push(default)
// The thread of a non-blocking communicator gets to its launch.
void fake_nccl_proceed(ncclComm_t communicator);
// Operations and finalizing are refused with this from now on; ncclSuccess: no more.
void fake_nccl_refuse(ncclResult_t result);
// Called from then on by whatever finalizes, destroys or aborts; nullptr: nothing is.
void fake_nccl_in_close(void (*call)());
// Questions to communicators that were not ready: NCCL warns of each, and remembers it as the last error.
int fake_nccl_early_questions();
// A thread of NCCL's own waits for a stream, outside of every call of the main job.
CUresult fake_nccl_thread_waits(CUstream stream);
// Likewise, it makes streams, one by each call there is.
void fake_nccl_thread_makes_streams();
#pragma GCC visibility pop
}
