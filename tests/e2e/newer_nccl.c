// A training by the newer functions of NCCL: two ranks grow by a third one, each iteration all-reduces with a
// configuration and passes data around the ring by put and signal, and half-way the communicator is suspended and
// resumed. Every rank has a communicator of its own for a while, which it aborts without having used it. Started under
// the preload; exits with 0 when every rank has computed what it should.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"
#include "shim/routing/newer_nccl.h"

enum { ranks = 3, first_ranks = 2, iterations = 40, count = 1000, computed_bytes = 4 << 20 };

// Between the ranks.
struct Shared {
  ncclUniqueId first, grown;
  atomic_int made_first, made_grown;
};

static void wait_for(atomic_int* word) {
  while (!*word) usleep(1000);
}

// Device memory, which the host can read and write on the simulated GPU.
static void* allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  void* pointer = NULL;
  CHECK(cuMemAlloc(&memory, bytes));
  memcpy(&pointer, &memory, sizeof memory);
  return pointer;
}

static CUstream make_stream(void) {
  CUstream stream = NULL;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

static ncclComm_t grow(int rank, struct Shared* shared) {
  ncclComm_t parent = NULL, grown = NULL;
  if (rank >= first_ranks) {
    wait_for(&shared->made_grown);
    CHECK(ncclCommGrow(NULL, ranks, &shared->grown, rank, &grown, NULL));
    return grown;
  }
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&shared->first));
    shared->made_first = 1;
  }
  wait_for(&shared->made_first);
  CHECK(ncclCommInitRank(&parent, first_ranks, shared->first, rank));
  if (rank == 0) {
    CHECK(ncclCommGetUniqueId(parent, &shared->grown));
    shared->made_grown = 1;
  }
  CHECK(ncclCommGrow(parent, ranks, rank == 0 ? &shared->grown : NULL, -1, &grown, NULL));
  CHECK(ncclCommDestroy(parent));
  return grown;
}

static ncclComm_t make_own(void) {
  ncclUniqueId id;
  ncclComm_t own = NULL;
  CHECK(ncclGetUniqueId(&id));
  CHECK(ncclCommInitRank(&own, 1, id, 0));
  return own;
}

static void rank_main(int rank, struct Shared* shared) {
  CUdevice device = 0;
  CUcontext context = NULL;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, rank));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  const ncclComm_t communicator = grow(rank, shared);
  const ncclComm_t own = make_own();
  const CUstream compute = make_stream(), transfer = make_stream();
  CUevent computed = NULL, arrived = NULL;
  CHECK(cuEventCreate(&computed, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&arrived, CU_EVENT_DISABLE_TIMING));
  int *sum = allocate(sizeof *sum), *given = allocate(count * sizeof *given), *taken = allocate(count * sizeof *taken);
  CUdeviceptr work = 0;
  CHECK(cuMemAlloc(&work, computed_bytes));
  ncclWindow_t from = NULL, to = NULL;
  CHECK(ncclCommWindowRegister(communicator, given, count * sizeof *given, &from, NCCL_WIN_COLL_SYMMETRIC));
  CHECK(ncclCommWindowRegister(communicator, taken, count * sizeof *taken, &to, NCCL_WIN_COLL_SYMMETRIC));
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  ncclWaitSignalDesc_t signal = {.opCnt = 1, .peer = previous, .sigIdx = 0, .ctx = 0};
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  config.maxCTAs = 2;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (iteration == iterations / 2) {
      CHECK(ncclCommAbort(own));
      CHECK(ncclCommSuspend(communicator, NCCL_SUSPEND_MEM));
      CHECK(ncclCommResume(communicator));
    }
    // The ranks compute for different times, so that the compute of some has to wait for the signal.
    CHECK(cuMemsetD8Async(work, 0, rank == iteration % ranks ? computed_bytes : computed_bytes / 4, compute));
    CHECK(cuEventRecord(computed, compute));
    CHECK(cuStreamWaitEvent(transfer, computed, 0));
    *sum = 1;
    given[count - 1] = rank + iteration;
    CHECK(ncclPutSignal(given, count, ncclInt32, next, to, 0, 0, 0, 0, communicator, transfer));
    CHECK(ncclWaitSignal(1, &signal, communicator, transfer));
    CHECK(cuEventRecord(arrived, transfer));
    CHECK(cuStreamWaitEvent(compute, arrived, 0));
    CHECK(cuMemsetD8Async(work, 0, computed_bytes / 8, compute));
    CHECK(ncclAllReduceConfig(sum, sum, 1, ncclInt32, ncclSum, communicator, compute, &config));
    CHECK(cuStreamSynchronize(compute));
    if (*sum != ranks || taken[count - 1] != previous + iteration) check(1, "a result is wrong");
  }
  CHECK(ncclCommDestroy(communicator));
  exit(0);
}

int main(void) {
  struct Shared* shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) rank_main(rank, shared);
  int result = 0;
  for (int status = 0; wait(&status) > 0;)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) result = 1;
  return result;
}
