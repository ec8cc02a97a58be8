// Two ranks. The second one launches as far ahead of a receive as its hardware queues let it (SIMGPU_QUEUE_DEPTH), and
// only then says that the first one may send: a program that hangs as soon as much is added to its streams.
//   launch_ahead receives N  many receives on one stream
//   launch_ahead waits N     two streams wait for each other in turn, behind one receive
//   launch_ahead turns N     receive and compute in turn, a wait between
//   launch_ahead full N      compute behind a receive, more than there is room for: the host stands in a launch
// Each begins with ordinary iterations and ends with some.
#include <stdbool.h>

#include "ranks.h"

enum { iterations = 12, bytes = 1 << 12, entries = 1024 };

struct Shared {
  struct SharedId id;
  atomic_int launched;
};

static const char* way;
static int rank, number;
static struct Shared* said;
static char *memory, *buffer;
static ncclComm_t communicator;
static CUstream computing, passing;
static CUevent events[entries];

static bool is(const char* name) {
  return strcmp(way, name) == 0;
}

static void receive(void) {
  CHECK(ncclRecv(buffer, bytes, ncclInt8, 0, communicator, passing));
}

static void wait_for_passing(CUevent event) {
  CHECK(cuEventRecord(event, passing));
  CHECK(cuStreamWaitEvent(computing, event, 0));
}

static void train(void) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (rank == 0) {
      compute(memory, 1000, computing);
      CHECK(cuEventRecord(events[0], computing));
      CHECK(cuStreamWaitEvent(passing, events[0], 0));
      CHECK(ncclSend(buffer, bytes, ncclInt8, 1, communicator, passing));
    } else {
      receive();
      wait_for_passing(events[0]);
      compute(memory, 300, computing);
    }
    CHECK(cuCtxSynchronize());
    CHECK(ncclAllReduce(buffer, buffer, bytes / 4, ncclFloat, ncclSum, communicator, passing));
    CHECK(cuCtxSynchronize());
  }
}

static int transfers(void) {
  return is("receives") || is("turns") ? number : 1;
}

// Each time for another place: nobody needs to be told twice.
static void wait_in_turn(void) {
  CUstream first = passing, second = computing;
  for (int wait = 0; wait < number; ++wait) {
    CHECK(cuEventRecord(events[wait % entries], first));
    CHECK(cuStreamWaitEvent(second, events[wait % entries], 0));
    CUstream const next = first;
    first = second;
    second = next;
  }
}

// All of it stands behind the first receive.
static void launch_ahead(void) {
  for (int transfer = 0; transfer < transfers(); ++transfer) {
    receive();
    if (!is("turns")) continue;
    wait_for_passing(events[transfer]);
    compute(memory, 10, computing);
  }
  if (is("waits")) wait_in_turn();
  if (is("full")) wait_for_passing(events[0]);
}

static void rank_main(int ordinal, void* shared) {
  rank = ordinal;
  said = shared;
  use_device(rank);
  memory = allocate(computed_bytes);
  buffer = allocate(bytes);
  memset(buffer, 0, bytes);
  communicator = make_communicator(&said->id, 2, rank);
  computing = make_stream();
  passing = make_stream();
  for (int event = 0; event < entries; ++event) events[event] = make_event();
  train();
  if (rank == 0) {
    wait_until(&said->launched, 1);
    usleep(50000);
    for (int transfer = 0; transfer < transfers(); ++transfer)
      CHECK(ncclSend(buffer, bytes, ncclInt8, 1, communicator, passing));
  } else {
    launch_ahead();
    said->launched = 1;
    // The host stands until the receive is over.
    for (int launch = 0; is("full") && launch < number; ++launch) compute(memory, 10, computing);
  }
  CHECK(cuCtxSynchronize());
  train();
  CHECK(ncclCommDestroy(communicator));
}

int main(int count, char** arguments) {
  check(count != 3, "two arguments are wanted: see the source");
  way = arguments[1];
  number = atoi(arguments[2]);
  return run_ranks(2, rank_main, shared_memory(sizeof(struct Shared)));
}
