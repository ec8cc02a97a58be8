// Two stages. The host never waits: it is hundreds of groups ahead of the GPU, so most of them get no markers.
//   far_ahead pipeline
#include "ranks.h"

enum { ranks = 2, iterations = 40, microbatches = 4, bytes = 1 << 12, most_events = 64 };

static CUstream computing, passing;
static CUevent events[most_events];
static char *memory, *buffer;
static int next_event;

static void follow(CUstream waiting, CUstream first) {
  const CUevent event = events[next_event++ % most_events];
  CHECK(cuEventRecord(event, first));
  CHECK(cuStreamWaitEvent(waiting, event, 0));
}

static void pass(ncclComm_t communicator, int peer, int microseconds, int receives, int sends) {
  if (receives) CHECK(ncclRecv(buffer, bytes, ncclInt8, peer, communicator, passing)), follow(computing, passing);
  compute(memory, microseconds, computing);
  if (sends) follow(passing, computing), CHECK(ncclSend(buffer, bytes, ncclInt8, peer, communicator, passing));
}

static void iterate(ncclComm_t communicator, int rank) {
  for (int i = 0; i < microbatches; ++i) pass(communicator, 1 - rank, 500, rank == 1, rank == 0);
  for (int i = 0; i < microbatches; ++i) pass(communicator, 1 - rank, 1000, rank == 0, rank == 1);
  follow(passing, computing);
  CHECK(ncclAllReduce(buffer, buffer, bytes, ncclInt8, ncclSum, communicator, passing));
  follow(computing, passing);
  compute(memory, 200, computing);
}

static void rank_main(int rank, void* shared) {
  use_device(rank);
  const ncclComm_t communicator = make_communicator(shared, ranks, rank);
  computing = make_stream();
  passing = make_stream();
  for (int i = 0; i < most_events; ++i) events[i] = make_event();
  memory = allocate(computed_bytes);
  buffer = allocate(bytes);
  for (int i = 0; i < iterations; ++i) iterate(communicator, rank);
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(communicator));
}

int main(void) {
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
