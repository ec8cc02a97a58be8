// Two ranks. The second one destroys blocking streams that have nothing left while its legacy stream receives, and only
// then sends what the first one answers with. A marker on such a stream would wait for the receive, and hold up the send
// in its hardware queue: the program would hang.
#include "ranks.h"

enum { ranks = 2, iterations = 20, streams = 4, bytes = 1 << 14 };

struct Shared {
  struct SharedId answers, questions;
};

static char *memory, *buffer;

static void answer(ncclComm_t answers, ncclComm_t questions, CUstream stream) {
  CHECK(ncclRecv(buffer, bytes, ncclInt8, 1, questions, stream));
  compute(memory, 100, stream);
  CHECK(ncclSend(buffer, bytes, ncclInt8, 1, answers, stream));
  CHECK(cuStreamSynchronize(stream));
}

// NCCL connects in the first one: both ranks have to be there.
static void ask_at_once(ncclComm_t answers, ncclComm_t questions, CUstream stream) {
  CHECK(ncclSend(buffer + bytes, bytes, ncclInt8, 0, questions, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(ncclRecv(buffer, bytes, ncclInt8, 0, answers, CU_STREAM_LEGACY));
  CHECK(cuCtxSynchronize());
}

static void ask(ncclComm_t answers, ncclComm_t questions, CUstream stream) {
  CUstream blocking[streams];
  for (int i = 0; i < streams; ++i) {
    CHECK(cuStreamCreate(&blocking[i], CU_STREAM_DEFAULT));
    compute(memory, 10, blocking[i]);
    CHECK(cuStreamSynchronize(blocking[i]));
  }
  CHECK(ncclRecv(buffer, bytes, ncclInt8, 0, answers, CU_STREAM_LEGACY));
  for (int i = 0; i < streams; ++i) CHECK(cuStreamDestroy(blocking[i]));
  CHECK(ncclSend(buffer + bytes, bytes, ncclInt8, 0, questions, stream));
  CHECK(cuCtxSynchronize());
}

static void rank_main(int rank, void* shared) {
  struct Shared* const said = shared;
  use_device(rank);
  const ncclComm_t answers = make_communicator(&said->answers, ranks, rank);
  const ncclComm_t questions = make_communicator(&said->questions, ranks, rank);
  const CUstream stream = make_stream();
  memory = allocate(computed_bytes);
  buffer = allocate(2 * bytes);
  (rank == 0 ? answer : ask_at_once)(answers, questions, stream);
  for (int i = 0; i < iterations; ++i) (rank == 0 ? answer : ask)(answers, questions, stream);
  CHECK(ncclCommDestroy(answers));
  CHECK(ncclCommDestroy(questions));
}

int main(void) {
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct Shared)));
}
