// Two ranks, a pipeline whose sends and receives are those of an NCCL that is linked statically (static_nccl.h). The
// second rank waits most of the time. Prints nothing; a call that fails ends it.
//   unseen_nccl alone     there is no other NCCL
//   unseen_nccl before    an all-reduce of the shared NCCL at the end of each iteration; its communicator comes second
//   unseen_nccl behind    likewise, and its communicator comes first
// The shared NCCL is opened only where it is used.
#include <dlfcn.h>
#include <stdbool.h>

#include "ranks.h"
#include "static_nccl.h"

enum { iterations = 16, bytes = 1 << 14 };

struct Shared {
  struct SharedId of_static, of_shared;
};

static const char* way;

static bool is(const char* name) {
  return strcmp(way, name) == 0;
}

// Of the shared NCCL.
static ncclResult_t (*get_id)(ncclUniqueId*);
static ncclResult_t (*init)(ncclComm_t*, int, ncclUniqueId, int);
static ncclResult_t (*reduce)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
static ncclResult_t (*destroy)(ncclComm_t);

static void find_shared(void) {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  check(library == NULL, "libnccl.so.2");
  *(void**)&get_id = dlsym(library, "ncclGetUniqueId");
  *(void**)&init = dlsym(library, "ncclCommInitRank");
  *(void**)&reduce = dlsym(library, "ncclAllReduce");
  *(void**)&destroy = dlsym(library, "ncclCommDestroy");
}

static ncclComm_t open_static(struct SharedId* id, int rank) {
  ncclComm_t made = NULL;
  if (rank == 0) {
    CHECK(static_id(&id->id));
    id->made = 1;
  }
  wait_until(&id->made, 1);
  CHECK(static_init(&made, 2, id->id, rank));
  return made;
}

static ncclComm_t open_shared(struct SharedId* id, int rank) {
  ncclComm_t made = NULL;
  find_shared();
  if (rank == 0) {
    CHECK(get_id(&id->id));
    id->made = 1;
  }
  wait_until(&id->made, 1);
  CHECK(init(&made, 2, id->id, rank));
  return made;
}

static void follow(CUstream stream, CUstream first, CUevent event) {
  CHECK(cuEventRecord(event, first));
  CHECK(cuStreamWaitEvent(stream, event, 0));
}

static void run(int rank, void* memory) {
  struct Shared* const shared = memory;
  use_device(rank);
  char* const data = allocate(computed_bytes);
  char* const buffer = allocate(bytes);
  const CUstream computing = make_stream(), passing = make_stream(), reducing = make_stream();
  const CUevent event = make_event();
  ncclComm_t reduces = is("behind") ? open_shared(&shared->of_shared, rank) : NULL;
  const ncclComm_t passes = open_static(&shared->of_static, rank);
  if (is("before")) reduces = open_shared(&shared->of_shared, rank);
  for (int i = 0; i < iterations; ++i) {
    if (rank == 0) compute(data, 4500, computing);
    if (rank == 0) follow(passing, computing, event);
    if (rank == 0) CHECK(static_send(buffer, bytes, 1, passes, passing));
    if (rank == 1) CHECK(static_receive(buffer, bytes, 0, passes, passing));
    follow(computing, passing, event);
    compute(data, 900, computing);
    follow(reducing, computing, event);
    if (reduces != NULL) CHECK(reduce(buffer, buffer, bytes / 4, ncclFloat, ncclSum, reduces, reducing));
    follow(computing, reducing, event);
    CHECK(cuStreamSynchronize(computing));
  }
  if (reduces != NULL) CHECK(destroy(reduces));
  CHECK(static_destroy(passes));
}

int main(int argc, char** argv) {
  check(argc != 2, "one argument is needed");
  way = argv[1];
  return run_ranks(2, run, shared_memory(sizeof(struct Shared)));
}
