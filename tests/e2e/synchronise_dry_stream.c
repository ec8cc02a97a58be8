// Two ranks. The first one posts a receive that something else waits for, then synchronises a stream on which nothing
// is pending, and only then sends what its peer needs first. Weft must put nothing on that stream:
//   blocking   it is a blocking stream, and the legacy stream waits for the receive
//   queue      it shares its hardware queue with the stream that waits for the receive
//   busy       like queue, with a copy on it that has begun
// Started under the preload; exits with 0 when both ranks have come to their end, with 1 when one hangs.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cuda.h"
#include "nccl.h"

enum { bytes = 1024, queues = 8, large_size = 64 << 20 };

static CUstream make_stream(unsigned flags) {
  CUstream stream = NULL;
  CHECK(cuStreamCreate(&stream, flags));
  return stream;
}

struct Link {
  ncclComm_t communicator;
  CUstream stream;
  void* buffer;
  int peer;
};

static void send_to_peer(const struct Link* link) {
  CHECK(ncclSend(link->buffer, bytes, ncclInt8, link->peer, link->communicator, link->stream));
}
static void receive(const struct Link* link) {
  CHECK(ncclRecv(link->buffer, bytes, ncclInt8, link->peer, link->communicator, link->stream));
}

static struct Link connect_ranks(const ncclUniqueId* id, int rank) {
  struct Link link = {NULL, make_stream(CU_STREAM_NON_BLOCKING), NULL, 1 - rank};
  CUdeviceptr buffer = 0;
  CHECK(cuMemAlloc(&buffer, bytes));
  memcpy(&link.buffer, &buffer, sizeof buffer);
  CHECK(ncclCommInitRank(&link.communicator, 2, *id, rank));
  return link;
}

static void waits(const struct Link* in, const struct Link* out, const char* way) {
  const bool blocking = strcmp(way, "blocking") == 0;
  // The streams so far are in some queues; this one is in the same as the one that is made a round later.
  const CUstream waiting = blocking ? NULL : make_stream(CU_STREAM_NON_BLOCKING);
  for (int other = 1; other < queues; ++other) make_stream(CU_STREAM_NON_BLOCKING);
  const CUstream dry = make_stream(blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
  CUdeviceptr large = 0;
  CHECK(cuMemAlloc(&large, 2 * (size_t)large_size));
  CUevent arrived = NULL;
  CHECK(cuEventCreate(&arrived, CU_EVENT_DISABLE_TIMING));
  receive(in);
  CHECK(cuEventRecord(arrived, in->stream));
  if (strcmp(way, "busy") == 0) CHECK(cuMemcpyDtoDAsync(large, large + large_size, large_size, dry));
  CHECK(cuStreamWaitEvent(waiting, arrived, 0));
  CHECK(cuStreamSynchronize(dry));
  send_to_peer(out);
  CHECK(cuStreamSynchronize(in->stream));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  ncclUniqueId ids[2];
  for (int link = 0; link < 2; ++link) CHECK(ncclGetUniqueId(&ids[link]));
  const pid_t peer = fork();
  const int rank = peer == 0 ? 1 : 0;
  alarm(20);
  CUcontext context = NULL;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, rank));
  CHECK(cuCtxSetCurrent(context));
  const struct Link in = connect_ranks(&ids[0], rank);
  const struct Link out = connect_ranks(&ids[1], rank);
  if (rank == 0) {
    receive(&in);  // the first time it connects
    send_to_peer(&out);
    CHECK(cuCtxSynchronize());
    waits(&in, &out, arguments[1]);
  } else {
    send_to_peer(&in);
    receive(&out);
    CHECK(cuCtxSynchronize());
    receive(&out);
    CHECK(cuStreamSynchronize(out.stream));
    send_to_peer(&in);
    CHECK(cuStreamSynchronize(in.stream));
    _exit(0);
  }
  int status = 0;
  if (waitpid(peer, &status, 0) != peer || status != 0) return 1;
  _exit(0);
}
