// Two ranks that run random legal programs: sets as compute, groups of a send and a receive, events between any streams,
// host waits, a host that sleeps. Both ranks draw the same calls, and each its own lengths, so that no order of theirs can
// deadlock: all that a call depends on was issued before it, on either rank.
//   random_programs PROGRAMS SEED
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"

enum { streams = 5, events = 8, actions = 30, bytes = 4096, largest_set = 8 << 20, longest_sleep = 60000 };

struct Rank {
  int peer;
  ncclComm_t communicator;
  CUstream stream[streams];
  CUevent event[events];
  int recorded;  // events that stand for something
  CUdeviceptr memory[streams];
  void *sent, *received;
  unsigned calls, lengths;  // states of the two random generators
};

static unsigned below(unsigned* state, unsigned limit) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % limit;
}

static void* allocate(void) {
  CUdeviceptr memory = 0;
  void* pointer = NULL;
  CHECK(cuMemAlloc(&memory, bytes));
  memcpy(&pointer, &memory, sizeof memory);
  return pointer;
}

static void set_up(struct Rank* rank, const ncclUniqueId* id, int number, unsigned seed) {
  CUcontext context = NULL;
  memset(rank, 0, sizeof *rank);
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, number));
  CHECK(cuCtxSetCurrent(context));
  for (int i = 0; i < streams; ++i) {
    CHECK(cuStreamCreate(&rank->stream[i], CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&rank->memory[i], largest_set));
  }
  // After the streams: Weft and NCCL make theirs then, and no chance decides which of these share a hardware queue.
  CHECK(ncclCommInitRank(&rank->communicator, 2, *id, number));
  for (int i = 0; i < events; ++i) CHECK(cuEventCreate(&rank->event[i], CU_EVENT_DISABLE_TIMING));
  rank->sent = allocate();
  rank->received = allocate();
  rank->peer = 1 - number;
  rank->calls = seed;
  rank->lengths = seed * 7919u + (unsigned)number;
}

static void exchange(struct Rank* rank, CUstream stream) {
  CHECK(ncclGroupStart());
  CHECK(ncclSend(rank->sent, bytes, ncclInt8, rank->peer, rank->communicator, stream));
  CHECK(ncclRecv(rank->received, bytes, ncclInt8, rank->peer, rank->communicator, stream));
  CHECK(ncclGroupEnd());
}

static void act(struct Rank* rank) {
  const unsigned kind = below(&rank->calls, 16);
  const unsigned one = below(&rank->calls, streams), event = below(&rank->calls, events);
  const unsigned length = below(&rank->lengths, 1000);
  if (kind < 4) {
    CHECK(cuMemsetD8Async(rank->memory[one], 1, largest_set / 1000 * (length + 1), rank->stream[one]));
  } else if (kind < 8) {
    exchange(rank, rank->stream[one]);
  } else if (kind < 10) {
    CHECK(cuEventRecord(rank->event[event], rank->stream[one]));
    rank->recorded |= 1 << event;
  } else if (kind < 13) {
    if ((rank->recorded >> event & 1) != 0) CHECK(cuStreamWaitEvent(rank->stream[one], rank->event[event], 0));
  } else if (kind < 15) {
    usleep(longest_sleep / 1000 * length);
  } else if (one == 0) {
    CHECK(cuCtxSynchronize());
  } else {
    CHECK(cuStreamSynchronize(rank->stream[one]));
  }
}

static int run(const ncclUniqueId* id, int number, int programs, unsigned seed) {
  static struct Rank rank;
  set_up(&rank, id, number, seed);
  for (int program = 0; program < programs; ++program) {
    for (int action = 0; action < actions; ++action) act(&rank);
    CHECK(cuCtxSynchronize());
  }
  CHECK(ncclCommDestroy(rank.communicator));
  return 0;
}

// The ranks part before anything of CUDA or NCCL is used: a child of a process that Weft sees is not seen.
int main(int count, char** arguments) {
  int ends[2];
  if (count != 3 || pipe(ends) != 0) return 2;
  const int programs = atoi(arguments[1]);
  const unsigned seed = (unsigned)atoi(arguments[2]);
  ncclUniqueId id;
  const pid_t child = fork();
  if (child == 0) {
    if (read(ends[0], &id, sizeof id) != (ssize_t)sizeof id) return 2;
    return run(&id, 1, programs, seed);
  }
  CHECK(ncclGetUniqueId(&id));
  if (write(ends[1], &id, sizeof id) != (ssize_t)sizeof id) return 2;
  int status = 0;
  const int mine = run(&id, 0, programs, seed);
  waitpid(child, &status, 0);
  return mine != 0 || status != 0;
}
