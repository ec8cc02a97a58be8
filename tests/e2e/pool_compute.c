// Two ranks, a pipeline. The second one waits most of the time, and for two thirds of that it computes on a stream of a
// large pool that nothing else is done with: its launches alone say that it is in use. Prints nothing; a call that
// fails ends it. The argument is not used.
#include "ranks.h"

enum { iterations = 16, bytes = 1 << 14, pool = 40 };

static void follow(CUstream stream, CUstream first, CUevent event) {
  CHECK(cuEventRecord(event, first));
  CHECK(cuStreamWaitEvent(stream, event, 0));
}

static void run(int rank, void* shared) {
  CUstream streams[pool];
  use_device(rank);
  for (int i = 0; i < pool; ++i) streams[i] = make_stream();
  const CUstream computing = streams[0], passing = streams[1], apart = streams[pool - 1];
  const CUevent event = make_event();
  char* const memory = allocate(computed_bytes);
  char* const buffer = allocate(bytes);
  const ncclComm_t communicator = make_communicator(shared, 2, rank);
  for (int i = 0; i < iterations; ++i) {
    if (rank == 0) {
      compute(memory, 6000, computing);
      follow(passing, computing, event);
      CHECK(ncclSend(buffer, bytes, ncclInt8, 1, communicator, passing));
      follow(computing, passing, event);
    } else {
      CHECK(ncclRecv(buffer, bytes, ncclInt8, 0, communicator, passing));
      compute(memory, 4000, apart);
      follow(computing, passing, event);
      compute(memory, 400, computing);
    }
    CHECK(cuCtxSynchronize());  // names no stream
  }
  CHECK(ncclCommDestroy(communicator));
}

int main(void) {
  return run_ranks(2, run, shared_memory(sizeof(struct SharedId)));
}
