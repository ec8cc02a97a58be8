// Three ranks whose traces have to be joined: a ring of sends and receives, all-reduces, two splits of the
// communicator, a group with more operations than a record has room for, and names that no JSON writer likes. Started
// under the preload; exits with 0 when every call has succeeded.
#include <stddef.h>

#include "ranks.h"

enum { ranks = 3, iterations = 12, many = 20, bytes = 1 << 16 };

static ncclComm_t make_world(int rank, struct SharedId* shared) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t world = NULL;
  config.commName = "the \"world\"\n\\ \xff \xc3\xa4";
  CHECK(ncclCommInitRankConfig(&world, ranks, *shared_id(shared, rank), rank, &config));
  return world;
}

// With a struct that is older than the name at its end.
static ncclComm_t split(ncclComm_t parent, int color, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t made = NULL;
  config.size = offsetof(ncclConfig_t, commName);
  config.commName = "not to be read";
  CHECK(ncclCommSplit(parent, color, rank, &made, &config));
  return made;
}

static void ring(ncclComm_t world, int rank, size_t count, void* out, void* in, CUstream stream) {
  CHECK(ncclGroupStart());
  CHECK(ncclSend(out, count, ncclInt8, (rank + 1) % ranks, world, (cudaStream_t)stream));
  CHECK(ncclRecv(in, count, ncclInt8, (rank + ranks - 1) % ranks, world, (cudaStream_t)stream));
  CHECK(ncclGroupEnd());
}

// From the first rank of the pair to the second.
static void send_many(ncclComm_t pair, int rank, void* buffer, CUstream stream) {
  CHECK(ncclGroupStart());
  for (int i = 0; i < many; ++i) {
    if (rank == 0) CHECK(ncclSend(buffer, 100 + (size_t)i, ncclInt8, 1, pair, (cudaStream_t)stream));
    if (rank == 1) CHECK(ncclRecv(buffer, 100 + (size_t)i, ncclInt8, 0, pair, (cudaStream_t)stream));
  }
  CHECK(ncclGroupEnd());
}

static void rank_main(int rank, void* shared) {
  use_device(rank);
  const CUstream stream = make_stream();
  void* out = allocate(bytes);
  void* in = allocate(bytes);
  const ncclComm_t world = make_world(rank, shared);
  // The last rank gets no communicator of the first split, and counts it all the same.
  const ncclComm_t pair = split(world, rank < 2 ? 5 : NCCL_SPLIT_NOCOLOR, rank);
  const ncclComm_t all = split(world, 5, -rank);
  for (size_t iteration = 0; iteration < iterations; ++iteration) {
    ring(world, rank, 1000 + iteration, out, in, stream);
    CHECK(ncclAllReduce(out, in, 100, ncclFloat32, ncclSum, world, (cudaStream_t)stream));
    CHECK(ncclBroadcast(out, in, 10 * iteration + 1, ncclInt8, 1, all, (cudaStream_t)stream));
    if (pair != NULL && rank == 0) CHECK(ncclSend(out, 7, ncclInt8, 1, pair, (cudaStream_t)stream));
    if (pair != NULL && rank == 1) CHECK(ncclRecv(in, 7, ncclInt8, 0, pair, (cudaStream_t)stream));
    CHECK(cuStreamSynchronize(stream));
    if (pair != NULL && iteration == 3) send_many(pair, rank, out, stream);
  }
  CHECK(cuStreamSynchronize(stream));
  if (pair != NULL) CHECK(ncclCommDestroy(pair));
  CHECK(ncclCommDestroy(all));
  CHECK(ncclCommDestroy(world));
}

int main(void) {
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
