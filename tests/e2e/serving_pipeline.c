// The calls of two stages that serve a model.
//   serving_pipeline vllm|sglang|captured
// vllm: the host waits in a socket for what describes the tensors, then receives them, and replays a CUDA graph of the
// decode step. sglang: the description comes by NCCL and is read by the host; sends are kept for later and waited for
// then. captured: the whole step, with its receive and send, is one graph that is replayed.
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#include "ranks.h"

enum { stages = 2, steps = 30, sent = 1 << 16, kernels = 3, kernel_us = 1000, sends_kept = 2 };

struct Shared {
  struct SharedId id;
  int ends[2];  // of a socket
};

struct Stage {
  int number, socket;
  ncclComm_t communicator;
  CUstream compute, transfer;
  CUevent computed, arrived, sent[sends_kept];
  void *out, *in, *memory;
  int *described, *description;  // on the device, and where the host reads it
  CUgraphExec step;
};

static const char* way;
static bool is(const char* word) {
  return strcmp(way, word) == 0;
}

static void decode(const struct Stage* stage) {
  for (int i = 0; i < kernels; ++i) compute(stage->memory, kernel_us, stage->compute);
}

static void exchange(const struct Stage* stage, CUstream stream) {
  const bool first = stage->number == 0;
  if (first) decode(stage);
  if (first) CHECK(ncclSend(stage->out, sent, ncclInt8, 1, stage->communicator, stream));
  CHECK(ncclRecv(stage->in, sent, ncclInt8, 1 - stage->number, stage->communicator, stream));
  if (!first) decode(stage);
  if (!first) CHECK(ncclSend(stage->out, sent, ncclInt8, 0, stage->communicator, stream));
}

static void capture(struct Stage* stage) {
  CUgraph graph = NULL;
  CHECK(cuStreamBeginCapture(stage->compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (is("captured")) exchange(stage, stage->compute);
  else decode(stage);
  CHECK(cuStreamEndCapture(stage->compute, &graph));
  CHECK(cuGraphInstantiateWithFlags(&stage->step, graph, 0));
  CHECK(cuGraphDestroy(graph));
}

static void give(const struct Stage* stage, CUevent event) {
  CHECK(cuEventRecord(stage->computed, stage->compute));
  CHECK(cuStreamWaitEvent(stage->transfer, stage->computed, 0));
  CHECK(ncclSend(stage->out, sent, ncclInt8, 1 - stage->number, stage->communicator, stage->transfer));
  CHECK(cuEventRecord(event, stage->transfer));
}

static void take(const struct Stage* stage) {
  CHECK(ncclRecv(stage->in, sent, ncclInt8, 1 - stage->number, stage->communicator, stage->transfer));
  CHECK(cuEventRecord(stage->arrived, stage->transfer));
  CHECK(cuStreamWaitEvent(stage->compute, stage->arrived, 0));
}

static void describe_by_socket(const struct Stage* stage, bool gives) {
  char described[64] = "";
  const ssize_t done = gives ? send(stage->socket, described, sizeof described, 0)
                             : recv(stage->socket, described, sizeof described, MSG_WAITALL);
  check(done != (ssize_t)sizeof described, "the socket");
}

static void vllm_gives(const struct Stage* stage) {
  describe_by_socket(stage, true);
  give(stage, stage->sent[0]);
}

static void vllm_takes(const struct Stage* stage) {
  describe_by_socket(stage, false);
  take(stage);
}

static void vllm_step(const struct Stage* stage) {
  if (stage->number == 1) vllm_takes(stage);
  CHECK(cuGraphLaunch(stage->step, stage->compute));
  CHECK(cuStreamSynchronize(stage->compute));
  vllm_gives(stage);
  if (stage->number == 0) vllm_takes(stage);
}

static void sglang_gives(const struct Stage* stage, int step) {
  CHECK(ncclSend(stage->described, 1, ncclInt32, 1 - stage->number, stage->communicator, stage->transfer));
  if (step >= sends_kept) CHECK(cuEventSynchronize(stage->sent[step % sends_kept]));
  give(stage, stage->sent[step % sends_kept]);
}

static void sglang_takes(const struct Stage* stage) {
  CHECK(ncclRecv(stage->described, 1, ncclInt32, 1 - stage->number, stage->communicator, stage->compute));
  CHECK(cuMemcpyDtoHAsync(stage->description, (CUdeviceptr)stage->described, sizeof(int), stage->compute));
  CHECK(cuStreamSynchronize(stage->compute));
  take(stage);
}

static void sglang_step(const struct Stage* stage, int step) {
  if (stage->number == 1) sglang_takes(stage);
  CHECK(cuGraphLaunch(stage->step, stage->compute));
  sglang_gives(stage, step);
  if (stage->number == 0) sglang_takes(stage);
}

static void serve(struct Stage* stage) {
  if (is("captured")) exchange(stage, stage->compute);  // the first one connects, which no capture can
  CHECK(cuStreamSynchronize(stage->compute));
  capture(stage);
  for (int step = 0; step < steps; ++step) {
    if (is("vllm")) vllm_step(stage);
    if (is("sglang")) sglang_step(stage, step);
    if (!is("captured")) continue;
    CHECK(cuGraphLaunch(stage->step, stage->compute));
    CHECK(cuStreamSynchronize(stage->compute));
    usleep(stage->number == 0 ? 2000 : 0);
  }
}

static void rank_main(int number, void* memory) {
  struct Shared* const shared = memory;
  struct Stage stage = {.number = number, .socket = shared->ends[number]};
  use_device(number);
  stage.communicator = make_communicator(&shared->id, stages, number);
  stage.compute = make_stream();
  stage.transfer = make_stream();
  stage.computed = make_event();
  stage.arrived = make_event();
  for (int i = 0; i < sends_kept; ++i) stage.sent[i] = make_event();
  stage.out = allocate(sent);
  stage.in = allocate(sent);
  stage.memory = allocate(computed_bytes);
  stage.described = allocate(sizeof(int));
  void* pinned = NULL;
  CHECK(cuMemAllocHost(&pinned, sizeof(int)));
  stage.description = pinned;
  serve(&stage);
  CHECK(cuCtxSynchronize());
  CHECK(cuGraphExecDestroy(stage.step));
  CHECK(ncclCommDestroy(stage.communicator));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  way = arguments[1];
  struct Shared* const shared = shared_memory(sizeof *shared);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, shared->ends));
  return run_ranks(stages, rank_main, shared);
}
