// Two ranks with one communicator, of which one receives; it closes the communicator next to its last receive, whose
// sender comes 0.4 s later.
//   last_communicator destroy|finalize|non_blocking|abort|reset
// destroy, finalize: NCCL waits for the receive in that call. non_blocking: the program asks until it is finalized.
// abort: nobody sends, and both ranks abort. reset: the receive is over when the context goes, with the communicator.
#include <stdbool.h>

#include "ranks.h"

enum { ranks = 2, iterations = 6, sent = 1 << 14, sender_us = 2500, step_us = 600, late_us = 400000 };

static const char* way;
static bool is(const char* word) {
  return strcmp(way, word) == 0;
}

static ncclComm_t communicator_of(struct SharedId* shared, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = is("non_blocking") ? 0 : 1;
  ncclComm_t made = NULL;
  ncclResult_t state = ncclCommInitRankConfig(&made, ranks, *shared_id(shared, rank), rank, &config);
  for (; state == ncclInProgress; usleep(200)) CHECK(ncclCommGetAsyncError(made, &state));
  CHECK(state);
  return made;
}

static void until_done(ncclResult_t result, ncclComm_t communicator) {
  for (; result == ncclInProgress; usleep(200)) CHECK(ncclCommGetAsyncError(communicator, &result));
  CHECK(result);
}

static void close_communicator(ncclComm_t communicator, int device) {
  if (is("abort")) {
    CHECK(ncclCommAbort(communicator));
  } else if (is("reset")) {
    CHECK(cuCtxSynchronize());
    CHECK(cuDevicePrimaryCtxReset(device));
  } else {
    if (!is("destroy")) until_done(ncclCommFinalize(communicator), communicator);
    CHECK(ncclCommDestroy(communicator));
  }
}

static void rank_main(int rank, void* shared) {
  use_device(rank);
  const ncclComm_t communicator = communicator_of(shared, rank);
  const CUstream main = make_stream(), transfers = make_stream();
  const CUevent arrived = make_event();
  char* const memory = allocate(computed_bytes + sent);
  for (int iteration = 0; iteration <= iterations; ++iteration) {
    const bool is_last = iteration == iterations;
    if (rank == 0) {
      compute(memory, sender_us, main);
      CHECK(cuStreamSynchronize(main));
      if (is_last && is("abort")) break;
      if (is_last) usleep(late_us);
      until_done(ncclSend(memory + computed_bytes, sent, ncclChar, 1, communicator, transfers), communicator);
    } else {
      until_done(ncclRecv(memory + computed_bytes, sent, ncclChar, 0, communicator, transfers), communicator);
      CHECK(cuEventRecord(arrived, transfers));
      CHECK(cuStreamWaitEvent(main, arrived, 0));
      compute(memory, step_us, main);
      if (!is_last) CHECK(cuStreamSynchronize(main));
    }
  }
  if (is("abort")) usleep(50000);  // the receive stands
  close_communicator(communicator, rank);
}

int main(int count, char** words) {
  if (count != 2) return 2;
  way = words[1];
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
