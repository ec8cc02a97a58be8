// Shared by the C programs of this folder: ranks as processes that share memory, a device each, streams, memory and
// communicators. A call that fails ends the rank (check.h).
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"

// Zeroed, and the same for a process and its children.
static inline void* shared_memory(size_t bytes) {
  void* const shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(shared == MAP_FAILED, "mmap");
  return shared;
}

// Each rank is a child of a process that has used neither CUDA nor NCCL: a child of one that Weft sees is not seen.
// 0 when all of them have succeeded.
static inline int run_ranks(int ranks, void (*rank_main)(int rank, void* shared), void* shared) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    rank_main(rank, shared);
    exit(0);
  }
  int result = 0;
  for (int status = 0; wait(&status) > 0;)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) result = 1;
  return result;
}

static inline void wait_until(atomic_int* word, int least) {
  while (*word < least) usleep(200);
}

static inline CUcontext use_device(int ordinal) {
  CUdevice device = 0;
  CUcontext context = NULL;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

static inline CUstream make_stream(void) {
  CUstream stream = NULL;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

static inline CUevent make_event(void) {
  CUevent event = NULL;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return event;
}

// Device memory, which the host can read and write on the simulated GPU.
static inline void* allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  void* pointer = NULL;
  CHECK(cuMemAlloc(&memory, bytes));
  memcpy(&pointer, &memory, sizeof memory);
  return pointer;
}

// Compute: sets of one thread block each, which take so long on the simulated GPU, times the time scale. The memory has
// computed_bytes.
enum { computed_bytes = 64 << 10, longest_set_us = 2000, set_bytes_per_us = 30 };
static inline void compute(void* memory, int microseconds, CUstream stream) {
  for (int left = microseconds; left > 0; left -= longest_set_us) {
    const int part = left < longest_set_us ? left : longest_set_us;
    CHECK(cuMemsetD8Async((CUdeviceptr)memory, 1, (size_t)part * set_bytes_per_us, stream));
  }
}

// The id of a communicator, made by its first rank.
struct SharedId {
  ncclUniqueId id;
  atomic_int made;
};

static inline const ncclUniqueId* shared_id(struct SharedId* shared, int rank) {
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&shared->id));
    shared->made = 1;
  }
  wait_until(&shared->made, 1);
  return &shared->id;
}

static inline ncclComm_t make_communicator(struct SharedId* shared, int ranks, int rank) {
  ncclComm_t made = NULL;
  CHECK(ncclCommInitRank(&made, ranks, *shared_id(shared, rank), rank));
  return made;
}
