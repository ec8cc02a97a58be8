// Two ranks, a pipeline whose streams are held up in ways that no framework of the table uses. The second rank waits
// most of the time. Prints nothing; a call that fails ends it.
//   unusual_waits group_streams        a send and a receive of one group on two streams; compute waits for the
//   receive's unusual_waits collective_streams   two all-reduces of one group on two streams unusual_waits memory_word
//   compute waits for a word that the receive's stream writes unusual_waits copies               at the end of each
//   iteration the host waits for a long copy, as for a checkpoint
#include <stdbool.h>

#include "ranks.h"

enum { iterations = 24, bytes = 1 << 14, copied_bytes = 48 << 20 };

static const char* way;
static int rank;
static char *memory, *buffer, *copied, *on_host;
static ncclComm_t communicator;
static CUstream computing, sending, receiving;
static CUevent event;
static CUdeviceptr word;

static bool is(const char* name) {
  return strcmp(way, name) == 0;
}

static void follow(CUstream stream, CUstream first) {
  CHECK(cuEventRecord(event, first));
  CHECK(cuStreamWaitEvent(stream, event, 0));
}

// The second rank has much less to compute.
static void compute_here(int of_first, int of_second) {
  compute(memory, rank == 0 ? of_first : of_second, computing);
}

static void exchange(void) {
  CHECK(ncclGroupStart());
  CHECK(ncclSend(buffer, bytes, ncclInt8, 1 - rank, communicator, sending));
  CHECK(ncclRecv(buffer + bytes, bytes, ncclInt8, 1 - rank, communicator, receiving));
  CHECK(ncclGroupEnd());
}

static void reduce_twice(void) {
  CHECK(ncclGroupStart());
  CHECK(ncclAllReduce(buffer, buffer, bytes / 4, ncclFloat, ncclSum, communicator, sending));
  CHECK(ncclAllReduce(buffer + bytes, buffer + bytes, bytes / 4, ncclFloat, ncclSum, communicator, receiving));
  CHECK(ncclGroupEnd());
}

static void pass_on(int iteration) {
  compute_here(1500, 0);
  if (rank == 0) {
    follow(sending, computing);
    CHECK(ncclSend(buffer, bytes, ncclInt8, 1, communicator, sending));
    return;
  }
  CHECK(ncclRecv(buffer, bytes, ncclInt8, 0, communicator, receiving));
  if (is("memory_word")) {
    CHECK(cuStreamWriteValue32(receiving, word, (cuuint32_t)iteration + 1, 0));
    CHECK(cuStreamWaitValue32(computing, word, (cuuint32_t)iteration + 1, CU_STREAM_WAIT_VALUE_GEQ));
  } else {
    follow(computing, receiving);
  }
  compute_here(0, 400);
}

static void train(int iteration) {
  if (!is("group_streams") && !is("collective_streams")) {
    pass_on(iteration);
    return;
  }
  compute_here(1200, 300);
  follow(sending, computing);
  follow(receiving, computing);
  if (is("group_streams"))
    exchange();
  else
    reduce_twice();
  follow(computing, receiving);
  compute_here(300, 300);
}

static void end_iteration(void) {
  CHECK(cuCtxSynchronize());
  if (is("copies")) {
    CHECK(cuMemcpyDtoHAsync(on_host, (CUdeviceptr)copied, copied_bytes, sending));
    CHECK(cuStreamSynchronize(sending));
  }
  CHECK(ncclAllReduce(buffer, buffer, bytes / 4, ncclFloat, ncclSum, communicator, receiving));
  CHECK(cuCtxSynchronize());
}

static void rank_main(int number, void* shared) {
  rank = number;
  use_device(rank);
  memory = allocate(computed_bytes);
  buffer = allocate(2 * bytes);
  memset(buffer, 0, 2 * bytes);
  copied = allocate(copied_bytes);
  void* pinned = NULL;
  CHECK(cuMemAllocHost(&pinned, copied_bytes));
  on_host = pinned;
  CHECK(cuMemAlloc(&word, 4096));
  CHECK(cuMemsetD8(word, 0, 4096));
  communicator = make_communicator(shared, 2, rank);
  computing = make_stream();
  sending = make_stream();
  receiving = make_stream();
  event = make_event();
  for (int iteration = 0; iteration < iterations; ++iteration) {
    train(iteration);
    if (iteration % 4 == 3) end_iteration();
  }
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(communicator));
}

int main(int count, char** arguments) {
  check(count != 2, "one argument is wanted: see the source");
  way = arguments[1];
  return run_ranks(2, rank_main, shared_memory(sizeof(struct SharedId)));
}
