// The calls of a training under torchft: a ring of ranks of which one hangs, twice. The others notice by a time-out,
// abort their communicator next to the blocked receive (the first time from the training's thread, then from another
// one), so does the one that hung, and all go on with a new communicator.
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "ranks.h"

enum { ranks = 3, phases = 3, iterations = 14, sent = 1 << 16, step_us = 2000, patience_ms = 700, hang_ms = 1500 };

struct Shared {
  struct SharedId id[phases];
  atomic_int aborted[phases];
};

struct Rank {
  int number;
  ncclComm_t communicator;
  CUstream compute, transfer;
  CUevent computed, arrived, over;
  void *out, *in, *memory;
};

static double milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static void issue(const struct Rank* rank, int iteration) {
  const int next = (rank->number + 1) % ranks, last = (rank->number + ranks - 1) % ranks;
  compute(rank->memory, iteration % ranks == rank->number ? 2 * step_us : step_us / 4, rank->compute);
  CHECK(cuEventRecord(rank->computed, rank->compute));
  CHECK(cuStreamWaitEvent(rank->transfer, rank->computed, 0));
  CHECK(ncclGroupStart());
  CHECK(ncclSend(rank->out, sent, ncclInt8, next, rank->communicator, rank->transfer));
  CHECK(ncclRecv(rank->in, sent, ncclInt8, last, rank->communicator, rank->transfer));
  CHECK(ncclGroupEnd());
  CHECK(cuEventRecord(rank->arrived, rank->transfer));
  CHECK(cuStreamWaitEvent(rank->compute, rank->arrived, 0));
  compute(rank->memory, step_us / 4, rank->compute);
  CHECK(ncclAllReduce(rank->out, rank->in, 16, ncclFloat32, ncclSum, rank->communicator, rank->compute));
  CHECK(cuEventRecord(rank->over, rank->compute));
}

// False: it has not come in time. Never a synchronise, which would not come back.
static bool comes_in_time(const struct Rank* rank) {
  const double begun = milliseconds();
  while (cuEventQuery(rank->over) == CUDA_ERROR_NOT_READY) {
    if (milliseconds() - begun > patience_ms) return false;
    usleep(200);
  }
  CHECK(cuEventQuery(rank->over));
  return true;
}

static void* abort_it(void* communicator) {
  CHECK(ncclCommAbort(communicator));
  return NULL;
}

static void abort_communicator(const struct Rank* rank, int phase) {
  pthread_t watchdog;
  if (phase % 2 == 0) {
    abort_it(rank->communicator);
  } else {
    CHECK(pthread_create(&watchdog, NULL, abort_it, rank->communicator));
    CHECK(pthread_join(watchdog, NULL));
  }
  CHECK(cuCtxSynchronize());
}

// The last phase ends well.
static void train(const struct Rank* rank, int phase) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const bool hangs = phase < phases - 1 && iteration == iterations / 2 && rank->number == phase;
    if (hangs) {
      usleep(1000 * hang_ms);
      return;
    }
    issue(rank, iteration);
    if (!comes_in_time(rank)) return;
  }
  check(phase < phases - 1, "nobody hung");
}

static void rank_main(int number, void* memory) {
  struct Shared* const shared = memory;
  struct Rank rank = {.number = number};
  use_device(number);
  rank.compute = make_stream();
  rank.transfer = make_stream();
  rank.computed = make_event();
  rank.arrived = make_event();
  rank.over = make_event();
  rank.out = allocate(sent);
  rank.in = allocate(sent);
  rank.memory = allocate(computed_bytes);
  for (int phase = 0; phase < phases; ++phase) {
    rank.communicator = make_communicator(&shared->id[phase], ranks, number);
    train(&rank, phase);
    if (phase == phases - 1) break;
    abort_communicator(&rank, phase);
    ++shared->aborted[phase];
    wait_until(&shared->aborted[phase], ranks);
  }
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(rank.communicator));
}

int main(void) {
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct Shared)));
}
