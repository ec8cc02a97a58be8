// Two ranks: rank 0 waits for rank 1 in each iteration, and for the first half of that it computes on a stream that has
// nothing to do with NCCL. So it is truly idle for the second half only. Who does not know of that stream reports the
// whole wait. With a library (hidden_compute.c) the calls of that stream are hidden from whatever is preloaded.
// In its place: "killed", the ranks kill themselves at the end; "leaves", they leave without destroying anything;
// "again", they do all of it twice with a communicator each; "swapped", likewise and with each other's rank.
//   independent_compute ITERATIONS [LIBRARY | killed | leaves | again | swapped]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"

// 80 MB take 20 ms on the simulated GPU, times the time scale; beside NCCL's kernel twice as long.
enum { message = 4096, wait_bytes = 80 << 20, independent_bytes = 20 << 20 };

static int plain_stream(CUstream* stream) {
  return (int)cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
}
static int plain_set(CUdeviceptr memory, size_t bytes, CUstream stream) {
  return (int)cuMemsetD8Async(memory, 1, bytes, stream);
}
static int (*make_stream)(CUstream*) = plain_stream;
static int (*set_memory)(CUdeviceptr, size_t, CUstream) = plain_set;

static const char* manner = "";
static bool is(const char* word) {
  return strcmp(manner, word) == 0;
}

static void hide_behind(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
  check(handle == NULL, "dlopen");
  *(void**)&make_stream = dlsym(handle, "hidden_stream");
  *(void**)&set_memory = dlsym(handle, "hidden_set");
  check(make_stream == NULL || set_memory == NULL, "dlsym");
}

static void* allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  void* pointer = NULL;
  CHECK(cuMemAlloc(&memory, bytes));
  memcpy(&pointer, &memory, sizeof memory);
  return pointer;
}

static void iterate(int rank, ncclComm_t communicator, CUstream stream, CUstream independent, void* data, void* large) {
  const CUdeviceptr memory = (CUdeviceptr)large;
  if (rank == 0) {
    CHECK(ncclSend(data, message, ncclInt8, 1, communicator, stream));  // else rank 1 runs ahead
    CHECK(ncclRecv(data, message, ncclInt8, 1, communicator, stream));
    CHECK(set_memory(memory, independent_bytes, independent));
    CHECK(cuMemsetD8Async(memory, 2, message, stream));
  } else {
    CHECK(ncclRecv(data, message, ncclInt8, 0, communicator, stream));
    CHECK(cuMemsetD8Async(memory, 1, wait_bytes, stream));
    CHECK(ncclSend(data, message, ncclInt8, 0, communicator, stream));
  }
  CHECK(cuCtxSynchronize());  // names no stream
}

static int run(const ncclUniqueId* id, int device, int rank, int iterations) {
  CUcontext context = NULL;
  CUstream stream = NULL, independent = NULL;
  ncclComm_t communicator = NULL;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(make_stream(&independent));
  CHECK(ncclCommInitRank(&communicator, 2, *id, rank));
  void* const data = allocate(message);
  void* const large = allocate(wait_bytes);
  memset(large, 0, wait_bytes);  // its pages are there before they are timed
  for (int i = 0; i < iterations; ++i) iterate(rank, communicator, stream, independent, data, large);
  if (is("killed")) raise(SIGKILL);
  if (!is("leaves")) CHECK(ncclCommDestroy(communicator));
  return 0;
}

static int run_all(const ncclUniqueId* ids, int device, int iterations) {
  const int failed = run(&ids[0], device, device, iterations);
  if (failed || (!is("again") && !is("swapped"))) return failed;
  return run(&ids[1], device, is("swapped") ? 1 - device : device, iterations);
}

// The ranks part before anything of CUDA or NCCL is used: a child of a process that Weft sees is not seen.
int main(int count, char** arguments) {
  int ends[2];
  ncclUniqueId ids[2];
  if (count < 2 || pipe(ends) != 0) return 2;
  if (count > 2) manner = arguments[2];
  if (strchr(manner, '/') != NULL) hide_behind(manner);
  const int iterations = atoi(arguments[1]);
  const pid_t child = fork();
  if (child == 0) {
    if (read(ends[0], ids, sizeof ids) != (ssize_t)sizeof ids) return 2;
    return run_all(ids, 1, iterations);
  }
  CHECK(ncclGetUniqueId(&ids[0]));
  CHECK(ncclGetUniqueId(&ids[1]));
  if (write(ends[1], ids, sizeof ids) != (ssize_t)sizeof ids) return 2;
  int status = 0;
  const int mine = run_all(ids, 0, iterations);
  waitpid(child, &status, 0);
  return mine != 0 || status != 0;
}
