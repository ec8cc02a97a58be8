// Two ranks whose compute waits for receives by events of the whole context (cuCtxRecordEvent, cuCtxWaitEvent), as the
// execution contexts of newer runtimes do. In each iteration a stream is made and launched on behind such a wait.
//   context_events record|wait
#include <stdbool.h>

#include "ranks.h"

enum { ranks = 2, iterations = 20, sent = 1 << 16, long_us = 6000, short_us = 500 };

static bool waits;

static void iterate(int rank, int iteration, CUcontext context, ncclComm_t communicator, CUstream stream,
                    CUstream transfer, CUevent event, char* memory) {
  CUstream made = NULL;
  compute(memory, iteration % ranks == rank ? long_us : short_us, stream);
  CHECK(cuEventRecord(event, stream));
  CHECK(cuStreamWaitEvent(transfer, event, 0));
  CHECK(ncclGroupStart());
  CHECK(ncclSend(memory, sent, ncclInt8, 1 - rank, communicator, transfer));
  CHECK(ncclRecv(memory + sent, sent, ncclInt8, 1 - rank, communicator, transfer));
  CHECK(ncclGroupEnd());
  if (waits) {
    CHECK(cuEventRecord(event, transfer));
    CHECK(cuCtxWaitEvent(context, event));
    made = make_stream();
    compute(memory, short_us, made);
  } else {
    CHECK(cuCtxRecordEvent(context, event));
    CHECK(cuStreamWaitEvent(stream, event, 0));
  }
  compute(memory, short_us, stream);
  CHECK(cuCtxSynchronize());
  if (made != NULL) CHECK(cuStreamDestroy(made));
}

static void rank_main(int rank, void* shared) {
  const CUcontext context = use_device(rank);
  const ncclComm_t communicator = make_communicator(shared, ranks, rank);
  const CUstream stream = make_stream(), transfer = make_stream();
  const CUevent event = make_event();
  char* const memory = allocate(2 * computed_bytes);
  for (int i = 0; i < iterations; ++i) iterate(rank, i, context, communicator, stream, transfer, event, memory);
  CHECK(ncclCommDestroy(communicator));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  waits = strcmp(arguments[1], "wait") == 0;
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
