// Four ranks whose neighbours make pair communicators one after the other, as pipelines do: a rank that is held up holds
// up all that follow. Started under the preload; prints how many seconds the last rank took, and exits with 0.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"

enum { ranks = 4 };

// Between a rank and the one to its right; made by the rank.
struct Pair {
  ncclUniqueId id;
  atomic_int made;
};

static void rank_main(int rank, struct Pair* pairs) {
  CUdevice device = 0;
  CUcontext context = NULL;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, rank));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  ncclComm_t left = NULL, right = NULL;
  CHECK(ncclGetUniqueId(&pairs[rank].id));
  pairs[rank].made = 1;
  while (rank > 0 && !pairs[rank - 1].made) usleep(1000);
  if (rank > 0) CHECK(ncclCommInitRank(&left, 2, pairs[rank - 1].id, 1));
  if (rank < ranks - 1) CHECK(ncclCommInitRank(&right, 2, pairs[rank].id, 0));
  if (left != NULL) CHECK(ncclCommDestroy(left));
  if (right != NULL) CHECK(ncclCommDestroy(right));
  exit(0);
}

int main(void) {
  struct Pair* pairs = mmap(NULL, ranks * sizeof *pairs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pairs == MAP_FAILED) return 2;
  const time_t began = time(NULL);
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) rank_main(rank, pairs);
  int result = 0;
  for (int status = 0; wait(&status) > 0;)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) result = 1;
  printf("%ld\n", (long)(time(NULL) - began));
  return result;
}
