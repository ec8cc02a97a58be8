// A training by the newer functions of NCCL: two ranks grow by a third one, each iteration all-reduces with a
// configuration and passes data around the ring by put and signal, and half-way the communicator is suspended and
// resumed. Every rank has a communicator of its own for a while, which it aborts without having used it. Started under
// the preload; exits with 0 when every rank has computed what it should.
#include "ranks.h"
#include "shim/routing/newer_nccl.h"

enum { ranks = 3, first_ranks = 2, iterations = 40, count = 1000 };

// Between the ranks.
struct Shared {
  struct SharedId first, grown;
};

static ncclComm_t grow(int rank, struct Shared* shared) {
  ncclComm_t parent = NULL, grown = NULL;
  if (rank >= first_ranks) {
    wait_until(&shared->grown.made, 1);
    CHECK(ncclCommGrow(NULL, ranks, &shared->grown.id, rank, &grown, NULL));
    return grown;
  }
  parent = make_communicator(&shared->first, first_ranks, rank);
  if (rank == 0) {
    CHECK(ncclCommGetUniqueId(parent, &shared->grown.id));
    shared->grown.made = 1;
  }
  CHECK(ncclCommGrow(parent, ranks, rank == 0 ? &shared->grown.id : NULL, -1, &grown, NULL));
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

static void rank_main(int rank, void* shared) {
  use_device(rank);
  const ncclComm_t communicator = grow(rank, shared);
  const ncclComm_t own = make_own();
  const CUstream stream = make_stream(), transfer = make_stream();
  const CUevent computed = make_event(), arrived = make_event();
  int *sum = allocate(sizeof *sum), *given = allocate(count * sizeof *given), *taken = allocate(count * sizeof *taken);
  void* const work = allocate(computed_bytes);
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
    compute(work, rank == iteration % ranks ? 1500 : 300, stream);
    CHECK(cuEventRecord(computed, stream));
    CHECK(cuStreamWaitEvent(transfer, computed, 0));
    *sum = 1;
    given[count - 1] = rank + iteration;
    CHECK(ncclPutSignal(given, count, ncclInt32, next, to, 0, 0, 0, 0, communicator, transfer));
    CHECK(ncclWaitSignal(1, &signal, communicator, transfer));
    CHECK(cuEventRecord(arrived, transfer));
    CHECK(cuStreamWaitEvent(stream, arrived, 0));
    compute(work, 200, stream);
    CHECK(ncclAllReduceConfig(sum, sum, 1, ncclInt32, ncclSum, communicator, stream, &config));
    CHECK(cuStreamSynchronize(stream));
    if (*sum != ranks || taken[count - 1] != previous + iteration) check(1, "a result is wrong");
  }
  CHECK(ncclCommDestroy(communicator));
}

int main(void) {
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct Shared)));
}
