// Two ranks: rank 1 receives from rank 0 and waits for it, and meanwhile does what is no compute, with compute behind it.
//   fetch: a copy stream fetches memory from the host, and the compute stream waits for it
//   inline: likewise on the compute stream itself
//   offload: each piece is computed, cast on a side stream and copied to the host
//   relay: a second copy stream waits for the first one, and the compute stream for both
//   host_function: one runs behind a kernel of the compute stream, and a kernel behind it
//   side: nothing of that; a side stream computes, and ends only while the compute stream computes
//   graph: compute is a graph whose first node waits for a copy
//   copies fetch | inline | offload | relay | host_function | side | graph
#include "ranks.h"

enum { ranks = 2, iterations = 16, transfers = 4, sent = 4096, copied = 2 << 20, offloaded = 128 << 10, sender_us = 1500, piece_us = 40 };

static const char* way;
static int is(const char* word) {
  return strcmp(way, word) == 0;
}

struct Rank {
  ncclComm_t communicator;
  CUstream main, transfer, side, second;
  CUevent arrived, reached;
  char *memory, *host;
  CUgraphExec graph;
};

static void wait_for(CUstream waiting, CUstream stream, CUevent event) {
  CHECK(cuEventRecord(event, stream));
  CHECK(cuStreamWaitEvent(waiting, event, 0));
}

static void fetch(struct Rank* r, CUstream stream) {
  CHECK(cuMemcpyHtoDAsync((CUdeviceptr)r->memory + computed_bytes, r->host, copied, stream));
}

static void offload(struct Rank* r) {
  wait_for(r->side, r->main, r->reached);
  compute(r->memory, 5, r->side);
  CHECK(cuMemcpyDtoHAsync(r->host, (CUdeviceptr)r->memory + computed_bytes, offloaded, r->side));
}

static void sleep_on_host(void* nothing) {
  (void)nothing;
  usleep(4000);
}

// In the time of a receive.
static void do_no_compute(struct Rank* r) {
  if (is("fetch")) {
    fetch(r, r->side);
    wait_for(r->main, r->side, r->reached);
  } else if (is("inline")) {
    compute(r->memory, piece_us, r->main);
    fetch(r, r->main);
  } else if (is("relay")) {
    fetch(r, r->side);
    wait_for(r->second, r->side, r->reached);
    fetch(r, r->second);
    wait_for(r->main, r->second, r->reached);
  } else if (is("host_function")) {
    compute(r->memory, piece_us, r->main);
    CHECK(cuLaunchHostFunc(r->main, sleep_on_host, NULL));
  } else if (is("side")) {
    for (int i = 0; i < 4; ++i) compute(r->memory, piece_us, r->side);
  } else if (is("graph")) {
    fetch(r, r->side);
    CHECK(cuEventRecord(r->reached, r->side));
    CHECK(cuGraphLaunch(r->graph, r->main));
  }
  if (!is("offload") && !is("side")) compute(r->memory, piece_us, r->main);
}

static CUgraphExec graph_behind(CUevent event, const struct Rank* r) {
  CUgraph graph;
  CUgraphExec made;
  CHECK(cuStreamBeginCapture(r->main, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuStreamWaitEvent(r->main, event, CU_EVENT_WAIT_EXTERNAL));
  for (int i = 0; i < 20; ++i) compute(r->memory, piece_us, r->main);
  CHECK(cuStreamEndCapture(r->main, &graph));
  CHECK(cuGraphInstantiate(&made, graph, 0));
  return made;
}

static void receiver(struct Rank* r) {
  for (int i = 0; i < transfers; ++i) {
    CHECK(ncclRecv(r->memory, sent, ncclInt8, 0, r->communicator, r->transfer));
    CHECK(cuEventRecord(r->arrived, r->transfer));
    do_no_compute(r);
    CHECK(cuStreamWaitEvent(r->main, r->arrived, 0));
    for (int piece = 0; piece < 6; ++piece) {
      compute(r->memory, piece_us, r->main);
      if (is("offload")) offload(r);
    }
  }
}

static void sender(struct Rank* r) {
  for (int i = 0; i < transfers; ++i) {
    compute(r->memory, sender_us, r->main);
    CHECK(ncclSend(r->memory, sent, ncclInt8, 1, r->communicator, r->main));
  }
}

static void rank_main(int rank, void* shared) {
  struct Rank r = {0};
  use_device(rank);
  r.main = make_stream();
  r.transfer = make_stream();
  r.side = make_stream();
  r.second = make_stream();
  r.arrived = make_event();
  r.reached = make_event();
  r.memory = allocate(computed_bytes + copied);
  CHECK(cuMemAllocHost((void**)&r.host, copied));
  r.graph = graph_behind(r.reached, &r);
  r.communicator = make_communicator(shared, ranks, rank);
  for (int i = 0; i < iterations; ++i) {
    (rank == 0 ? sender : receiver)(&r);
    CHECK(ncclAllReduce(r.memory, r.memory, sent, ncclInt8, ncclSum, r.communicator, r.transfer));
    if (i % 2 == 1) CHECK(cuCtxSynchronize());
  }
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(r.communicator));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  way = arguments[1];
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
