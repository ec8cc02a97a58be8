// Four ranks whose neighbours make pair communicators one after the other, as pipelines do: a rank that is held up holds
// up all that follow. Started under the preload; prints how many seconds the last rank took, and exits with 0.
#include <time.h>

#include "ranks.h"

enum { ranks = 4 };

// Each rank makes the id of the pair with the one to its right.
static void rank_main(int rank, void* shared) {
  struct SharedId* const pairs = shared;
  use_device(rank);
  ncclComm_t left = NULL, right = NULL;
  CHECK(ncclGetUniqueId(&pairs[rank].id));
  pairs[rank].made = 1;
  if (rank > 0) wait_until(&pairs[rank - 1].made, 1);
  if (rank > 0) CHECK(ncclCommInitRank(&left, 2, pairs[rank - 1].id, 1));
  if (rank < ranks - 1) CHECK(ncclCommInitRank(&right, 2, pairs[rank].id, 0));
  if (left != NULL) CHECK(ncclCommDestroy(left));
  if (right != NULL) CHECK(ncclCommDestroy(right));
}

int main(void) {
  const time_t began = time(NULL);
  const int result = run_ranks(ranks, rank_main, shared_memory(ranks * sizeof(struct SharedId)));
  printf("%ld\n", (long)(time(NULL) - began));
  return result;
}
