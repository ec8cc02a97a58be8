// Two ranks that each receive on a thread of their own: while the other thread waits for its GPU, and has nothing left
// there, a receive is begun that only ends when this very thread has sent. Started under the preload, with a fill job
// that is made ready at such a moment; what that calls next to a receive would hold up the thread's launches for ever.
//   two_threads SECONDS
#include <pthread.h>
#include <time.h>

#include "ranks.h"

enum { compute_us = 2000, receives_after_us = 3000 };

static double least_seconds;

struct Shared {
  struct SharedId there, back;
  atomic_int last;  // iteration, once rank 0 has decided it; 0 before
};

struct Receiver {
  int rank;
  CUcontext context;
  ncclComm_t communicator;
  atomic_int begun, received, over;
};

static int peer_of(int rank) {
  return 1 - rank;
}

static void* receive_all(void* pointer) {
  struct Receiver* const receiver = pointer;
  CHECK(cuCtxSetCurrent(receiver->context));
  const CUstream stream = make_stream();
  void* const memory = allocate(64);
  for (int iteration = 1;; ++iteration) {
    while (receiver->begun < iteration && !receiver->over) usleep(100);
    if (receiver->over) return NULL;
    usleep(receives_after_us);
    CHECK(ncclRecv(memory, 1, ncclInt, peer_of(receiver->rank), receiver->communicator, (cudaStream_t)stream));
    CHECK(cuStreamSynchronize(stream));
    receiver->received = iteration;
  }
}

static double seconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rank_main(int rank, void* pointer) {
  struct Shared* const shared = pointer;
  const double began = seconds_now();
  struct Receiver receiver = {.rank = rank, .context = use_device(rank)};
  const CUstream computing = make_stream(), sending = make_stream();
  void* const memory = allocate(computed_bytes);
  const ncclComm_t there = make_communicator(&shared->there, 2, rank), back = make_communicator(&shared->back, 2, rank);
  const ncclComm_t sends = rank == 0 ? there : back;
  receiver.communicator = rank == 0 ? back : there;
  pthread_t thread;
  check(pthread_create(&thread, NULL, receive_all, &receiver) != 0, "pthread_create");
  for (int iteration = 1; shared->last == 0 || iteration <= shared->last; ++iteration) {
    if (rank == 0 && shared->last == 0 && seconds_now() - began > least_seconds) shared->last = iteration;
    receiver.begun = iteration;
    compute(memory, compute_us, computing);
    CHECK(cuStreamSynchronize(computing));
    if (rank == 1) wait_until(&receiver.received, iteration);
    CHECK(ncclSend(memory, 1, ncclInt, peer_of(rank), sends, (cudaStream_t)sending));
    if (rank == 0) wait_until(&receiver.received, iteration);
    CHECK(cuStreamSynchronize(sending));
  }
  receiver.over = 1;
  check(pthread_join(thread, NULL) != 0, "pthread_join");
  CHECK(ncclCommDestroy(there));
  CHECK(ncclCommDestroy(back));
}

int main(int count, char** values) {
  check(count != 2, "two_threads SECONDS");
  least_seconds = atof(values[1]);
  return run_ranks(2, rank_main, shared_memory(sizeof(struct Shared)));
}
