// Two ranks whose iterations never repeat, and which say where they are (include/weft/annotate.h). Each iteration has
// two bubbles that are said: one is true; in the other one a set runs, which nothing but the stream itself tells.
//   annotated right|wrong|many
// wrong: what is said contradicts itself. many: more is said than can be taken, beside communication. Started with and without Weft; exits with 0 when all calls have succeeded.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"
#include "weft/annotate.h"

enum { iterations = 12, first = 100, bytes = 1 << 16, set = 1 << 16, sets = 4, pause_us = 30000, lead_us = 3000, many_microbatches = 40 };

struct Rank {
  int number;
  ncclComm_t communicator;
  CUstream compute, transfer, side;
  CUevent arrived;
  CUdeviceptr memory, side_memory;
  void* buffer;
  unsigned lengths;
};

static CUstream make_stream(void) {
  CUstream stream = NULL;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

static void set_up(struct Rank* rank, const ncclUniqueId* id, int number) {
  CUcontext context = NULL;
  CUdeviceptr memory = 0;
  memset(rank, 0, sizeof *rank);
  rank->number = number;
  weft_set_stage(number, -1);  // before there is anybody to hear it
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, number));
  CHECK(cuCtxSetCurrent(context));
  CHECK(ncclCommInitRank(&rank->communicator, 2, *id, number));
  rank->compute = make_stream();
  rank->transfer = make_stream();
  rank->side = make_stream();
  CHECK(cuEventCreate(&rank->arrived, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&rank->memory, set));
  CHECK(cuMemAlloc(&rank->side_memory, set));
  CHECK(cuMemAlloc(&memory, 2 * bytes));
  memcpy(&rank->buffer, &memory, sizeof memory);
  rank->lengths = 1;
}

// Another size each time, the same on both ranks: no period is found in this.
static size_t next_size(struct Rank* rank) {
  rank->lengths = rank->lengths * 1664525u + 1013904223u;
  return 1024 + (rank->lengths >> 8) % (bytes - 1024);
}

static void microbatch(struct Rank* rank, int number) {
  const size_t size = next_size(rank);
  weft_begin_microbatch(number);
  CHECK(ncclGroupStart());
  CHECK(ncclSend(rank->buffer, size, ncclInt8, 1 - rank->number, rank->communicator, rank->transfer));
  CHECK(ncclRecv((char*)rank->buffer + bytes, size, ncclInt8, 1 - rank->number, rank->communicator, rank->transfer));
  CHECK(ncclGroupEnd());
  CHECK(cuEventRecord(rank->arrived, rank->transfer));
  CHECK(cuStreamWaitEvent(rank->compute, rank->arrived, 0));
  CHECK(cuMemsetD8Async(rank->memory, 1, set, rank->compute));
  weft_end_microbatch(number);
}

static void iteration(struct Rank* rank, int number) {
  weft_begin_iteration(first + number);
  // In turn one rank is behind the other, whose GPU waits.
  for (int i = 0; i < 3 + number % 3; ++i) {
    if (number % 2 == rank->number) usleep(lead_us);
    microbatch(rank, i);
  }
  CHECK(cuCtxSynchronize());
  weft_begin_bubble();
  usleep(pause_us);
  weft_end_bubble();
  weft_begin_bubble();
  for (int i = 0; i < sets; ++i) CHECK(cuMemsetD8Async(rank->side_memory, 2, set, rank->side));
  usleep(pause_us);
  weft_end_bubble();
  CHECK(cuCtxSynchronize());
  weft_end_iteration(first + number);
}

static void* say_as_well(void* unused) {
  weft_begin_iteration(1);
  weft_begin_bubble();
  weft_begin_microbatch(3);
  return unused;
}

// After some iterations that are right.
static void contradict(void) {
  pthread_t other;
  weft_begin_iteration(first + iterations);
  CHECK(pthread_create(&other, NULL, say_as_well, NULL));
  CHECK(pthread_join(other, NULL));
  weft_end_microbatch(9);
  weft_say(WEFT_BEGIN_BUBBLE, 99, 0, 0); /* no device */
  weft_say(WEFT_END_BUBBLE, 7, 0, 0);    /* there, or not: not observed */
  weft_end_iteration(first + iterations);
  weft_end_iteration(first + iterations);
  weft_begin_iteration(-5);
  weft_end_iteration(-5);
  weft_begin_bubble();  // and never ends
}

static void* say_much(void* unused) {
  for (int i = 0; i < 100000; ++i) {
    weft_begin_bubble();
    weft_end_bubble();
  }
  return unused;
}

static void say_more_than_can_be_taken(struct Rank* rank) {
  pthread_t others[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&others[i], NULL, say_much, NULL));
  for (int i = 0; i < many_microbatches; ++i) microbatch(rank, i);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(others[i], NULL));
  CHECK(cuCtxSynchronize());
}

// A child of a process that Weft sees is not seen: whatever it says, and it may.
static void say_in_a_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    weft_begin_iteration(1000000);
    weft_end_bubble();
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) != child || status != 0);
}

static int run(const ncclUniqueId* id, int number, const char* what) {
  const int wrong = strcmp(what, "wrong") == 0;
  static struct Rank rank;
  set_up(&rank, id, number);
  for (int i = 0; i < iterations; ++i) iteration(&rank, i);
  if (wrong) contradict();
  if (strcmp(what, "many") == 0) say_more_than_can_be_taken(&rank);
  say_in_a_child();
  for (int i = 0; i < 3 && wrong; ++i) microbatch(&rank, i);
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(rank.communicator));
  return 0;
}

// The ranks part before anything of CUDA or NCCL is used.
int main(int count, char** arguments) {
  int ends[2];
  if (count != 2 || pipe(ends) != 0) return 2;
  ncclUniqueId id;
  const pid_t child = fork();
  if (child == 0) {
    if (read(ends[0], &id, sizeof id) != (ssize_t)sizeof id) return 2;
    return run(&id, 1, arguments[1]);
  }
  CHECK(ncclGetUniqueId(&id));
  if (write(ends[1], &id, sizeof id) != (ssize_t)sizeof id) return 2;
  int status = 0;
  const int mine = run(&id, 0, arguments[1]);
  waitpid(child, &status, 0);
  return mine != 0 || status != 0;
}
