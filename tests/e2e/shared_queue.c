// A legal program in which a marker that holds up its hardware queue dead-locks the ranks: each rank receives on one
// stream and sends on another, on a communicator for each direction, and both streams share a queue because there are
// more streams than queues. The send stands behind whatever was put behind the receive. Ends well with Weft as without.
#include "ranks.h"

enum { ranks = 2, iterations = 10, most_streams = 40, bytes = 1 << 16 };

static int streams_made;

static void connect(ncclComm_t communicator, char* memory, int peer, CUstream stream) {
  CHECK(ncclGroupStart());
  CHECK(ncclSend(memory, bytes, ncclInt8, peer, communicator, stream));
  CHECK(ncclRecv(memory + bytes, bytes, ncclInt8, peer, communicator, stream));
  CHECK(ncclGroupEnd());
  CHECK(cuCtxSynchronize());
}

static void rank_main(int rank, void* shared) {
  struct SharedId* const ids = shared;
  const int peer = 1 - rank;
  use_device(rank);
  const ncclComm_t up = make_communicator(&ids[0], ranks, rank), down = make_communicator(&ids[1], ranks, rank);
  CUstream streams[most_streams];
  for (int i = 0; i < streams_made; ++i) streams[i] = make_stream();
  const CUstream receives = streams[0], sends = streams[streams_made - 1];
  char* const memory = allocate(2 * bytes);
  connect(up, memory, peer, receives);
  connect(down, memory, peer, receives);
  for (int i = 0; i < iterations; ++i) {
    CHECK(ncclRecv(memory + bytes, bytes, ncclInt8, peer, rank == 0 ? up : down, receives));
    CHECK(ncclSend(memory, bytes, ncclInt8, peer, rank == 0 ? down : up, sends));
    CHECK(cuCtxSynchronize());
  }
  CHECK(ncclCommDestroy(up));
  CHECK(ncclCommDestroy(down));
}

int main(int count, char** arguments) {
  check(count != 2, "usage: shared_queue STREAMS");
  streams_made = atoi(arguments[1]);
  check(streams_made < 2 || streams_made > most_streams, "2 to 40 streams");
  return run_ranks(ranks, rank_main, shared_memory(2 * sizeof(struct SharedId)));
}
