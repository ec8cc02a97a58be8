// Two stages whose streams CUDA orders by itself, or whose waits come round.
//   default_streams legacy|offloaded
// legacy: kernels on the legacy default stream, NCCL on blocking streams, all receives of an iteration posted ahead.
// offloaded: the optimizer is the host's: copies and a host function on two side streams, for which the compute stream
// waits, while the next receive is posted; the host is four iterations ahead.
#include <stdbool.h>
#include <stdint.h>

#include "ranks.h"

enum { ranks = 2, iterations = 36, microbatches = 4, sent = 1 << 14, copied = 1 << 19, ahead = 4, parts = 4 };

struct Rank {
  int rank;
  ncclComm_t communicator;
  CUstream main, transfers, sums, out, in;
  CUevent events[64];
  int next;
  char *memory, *host;
};

static const char* way;
static bool is(const char* word) {
  return strcmp(way, word) == 0;
}

static CUevent record(struct Rank* r, CUstream stream) {
  const CUevent event = r->events[r->next++ % 64];
  CHECK(cuEventRecord(event, stream));
  return event;
}

static void follow(struct Rank* r, CUstream waiting, CUstream first) {
  CHECK(cuStreamWaitEvent(waiting, record(r, first), 0));
}

static CUstream communication_stream(void) {
  if (!is("legacy")) return make_stream();
  CUstream made = NULL;
  CHECK(cuStreamCreate(&made, CU_STREAM_DEFAULT));
  return made;
}

static void send_to(struct Rank* r, int peer) {
  follow(r, r->transfers, r->main);
  CHECK(ncclSend(r->memory + computed_bytes, sent, ncclChar, peer, r->communicator, r->transfers));
}

static CUevent receive_from(struct Rank* r, int peer) {
  CHECK(ncclRecv(r->memory + computed_bytes + sent, sent, ncclChar, peer, r->communicator, r->transfers));
  return record(r, r->transfers);
}

static void reduce(struct Rank* r) {
  follow(r, r->sums, r->main);
  char* const sum = r->memory + computed_bytes + 2 * sent;
  CHECK(ncclAllReduce(sum, sum, sent, ncclUint8, ncclSum, r->communicator, r->sums));
  follow(r, r->main, r->sums);
}

// Forwards, then backwards.
static void iterate_in_stages(struct Rank* r) {
  CUevent arrived[microbatches];
  if (r->rank == 0) {
    for (int i = 0; i < microbatches; ++i) compute(r->memory, 200, r->main), send_to(r, 1);
    for (int i = 0; i < microbatches; ++i) arrived[i] = receive_from(r, 1);
    for (int i = 0; i < microbatches; ++i) {
      CHECK(cuStreamWaitEvent(r->main, arrived[i], 0));
      compute(r->memory, 300, r->main);
    }
  } else {
    for (int i = 0; i < microbatches; ++i) arrived[i] = receive_from(r, 0);
    for (int i = 0; i < microbatches; ++i) {
      CHECK(cuStreamWaitEvent(r->main, arrived[i], 0));
      compute(r->memory, 500, r->main);
      send_to(r, 0);
    }
  }
  reduce(r);
}

static void step(void* microseconds) {
  usleep((unsigned)(intptr_t)microseconds);
}

static void iterate_offloaded(struct Rank* r, CUevent* first_arrived) {
  if (r->rank == 0) {
    for (int i = 0; i < microbatches; ++i) compute(r->memory, 300, r->main), send_to(r, 1);
  } else {
    for (int i = 0; i < microbatches; ++i) {
      CHECK(cuStreamWaitEvent(r->main, i == 0 ? *first_arrived : receive_from(r, 0), 0));
      compute(r->memory, 200, r->main);
    }
  }
  reduce(r);
  if (r->rank == 1) *first_arrived = receive_from(r, 0);
  for (int part = 0; part < parts; ++part) {
    char* const weights = r->memory + computed_bytes + 3 * sent + part * copied;
    char* const kept = r->host + part * copied;
    follow(r, r->out, r->main);
    CHECK(cuMemcpyDtoHAsync(kept, (CUdeviceptr)weights, copied, r->out));
    CHECK(cuLaunchHostFunc(r->out, step, (void*)(intptr_t)2000));
    follow(r, r->in, r->out);
    CHECK(cuMemcpyHtoDAsync((CUdeviceptr)weights, kept, copied, r->in));
  }
  follow(r, r->main, r->in);
}

static void rank_main(int rank, void* shared) {
  use_device(rank);
  struct Rank r = {.rank = rank, .communicator = make_communicator(shared, ranks, rank)};
  r.main = is("legacy") ? CU_STREAM_LEGACY : make_stream();
  r.transfers = communication_stream();
  r.sums = communication_stream();
  r.out = make_stream();
  r.in = make_stream();
  for (int i = 0; i < 64; ++i) r.events[i] = make_event();
  r.memory = allocate(computed_bytes + 3 * sent + parts * copied);
  CHECK(cuMemAllocHost((void**)&r.host, parts * copied));
  CUevent first_arrived = rank == 1 && is("offloaded") ? receive_from(&r, 0) : NULL;
  for (int i = 1; i <= iterations; ++i) {
    is("legacy") ? iterate_in_stages(&r) : iterate_offloaded(&r, &first_arrived);
    if (is("legacy") || i % ahead == 0) CHECK(cuStreamSynchronize(r.main));
  }
  if (rank == 0 && is("offloaded")) send_to(&r, 1);  // for the receive that is posted
  CHECK(cuCtxSynchronize());
  CHECK(ncclCommDestroy(r.communicator));
}

int main(int count, char** words) {
  if (count != 2) return 2;
  way = words[1];
  return run_ranks(ranks, rank_main, shared_memory(sizeof(struct SharedId)));
}
