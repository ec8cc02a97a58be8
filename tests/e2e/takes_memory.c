// Two ranks, of which the second one receives: for a while it has so much device memory that what is left is less than
// WEFT_HEADROOM, and then gives it back. The first one has so much from the begin.
//   takes_memory [MIB]     takes so much, and no more than once
#include "ranks.h"

enum { ranks = 2, iterations = 1800, takes_at = 100, more_at = 130, frees_at = 300 };
enum { sent = 1 << 14, sender_us = 2500, step_us = 600 };
static size_t first_bytes = 36u << 20, second_bytes = 28u << 20;  // for these is what was given back

static void rank_main(int rank, void* shared) {
  use_device(rank);
  if (rank == 0) allocate(first_bytes + second_bytes);
  const ncclComm_t communicator = make_communicator(shared, ranks, rank);
  const CUstream main = make_stream(), transfers = make_stream();
  const CUevent arrived = make_event();
  char* const memory = allocate(computed_bytes + sent);
  void *first = NULL, *second = NULL;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (rank == 0) {
      compute(memory, sender_us, main);
      CHECK(cuStreamSynchronize(main));
      CHECK(ncclSend(memory + computed_bytes, sent, ncclChar, 1, communicator, transfers));
      continue;
    }
    CHECK(ncclRecv(memory + computed_bytes, sent, ncclChar, 0, communicator, transfers));
    CHECK(cuEventRecord(arrived, transfers));
    CHECK(cuStreamWaitEvent(main, arrived, 0));
    compute(memory, step_us, main);
    CHECK(cuStreamSynchronize(main));
    if (iteration == takes_at) {
      first = allocate(first_bytes);
    } else if (iteration == more_at) {
      second = second_bytes == 0 ? NULL : allocate(second_bytes);
    } else if (iteration == frees_at) {
      CHECK(cuMemFree((CUdeviceptr)first));
      if (second != NULL) CHECK(cuMemFree((CUdeviceptr)second));
    }
  }
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(communicator));
}

int main(int count, char** arguments) {
  if (count > 1) {
    first_bytes = (size_t)atoi(arguments[1]) << 20;
    second_bytes = 0;
  }
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
