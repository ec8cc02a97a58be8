// Two ranks whose functions are known by their names: each calls NCCL for one purpose (WEFT_CALL_SITES). In the middle
// of the run a child is forked that calls NCCL as well. Where NVTX is there, ranges of it are around some calls. Started with and without Weft; exits with 0 when all calls have
// succeeded.
#include "ranks.h"

#ifdef WEFT_TEST_NVTX
#include "nvtx3/nvToolsExt.h"

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;

static void push_registered(void) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = registered;
  nvtxDomainRangePushEx(domain, &event);
}
#define MAKE_DOMAIN() (domain = nvtxDomainCreateA("weft"), registered = nvtxDomainRegisterStringA(domain, "backward-recv"))
#define PUSH(text) nvtxRangePushA(text)
#define PUSH_REGISTERED() push_registered()
#define POP() nvtxRangePop()
#define POP_REGISTERED() nvtxDomainRangePop(domain)
#else
#define MAKE_DOMAIN() (void)0
#define PUSH(text) (void)0
#define PUSH_REGISTERED() (void)0
#define POP() (void)0
#define POP_REGISTERED() (void)0
#endif

// Fewer groups in a second than are thinned out in the trace.
enum { iterations = 100, microbatches = 2, bytes = 1 << 12, work_us = 4000 };

struct Rank {
  int number;
  ncclComm_t communicator;
  CUstream compute, transfer;
  CUevent arrived, computed;
  void *memory, *buffer;
};

// The compute stream waits for what the transfer stream does.
static void wait_for_transfer(struct Rank* rank) {
  CHECK(cuEventRecord(rank->arrived, rank->transfer));
  CHECK(cuStreamWaitEvent(rank->compute, rank->arrived, 0));
}

static void wait_for_compute(struct Rank* rank) {
  CHECK(cuEventRecord(rank->computed, rank->compute));
  CHECK(cuStreamWaitEvent(rank->transfer, rank->computed, 0));
}

// Exported and never inlined, so that the frames have their names.
#define PART __attribute__((noinline, visibility("default"))) void
PART receive_activation(struct Rank* rank);
PART receive_gradient(struct Rank* rank);
PART send_message(struct Rank* rank);
PART sum_up(struct Rank* rank);

PART receive_activation(struct Rank* rank) {
  PUSH("forward-recv");
  CHECK(ncclRecv(rank->buffer, bytes, ncclInt8, 0, rank->communicator, rank->transfer));
  POP();
  wait_for_transfer(rank);
}

PART receive_gradient(struct Rank* rank) {
  PUSH_REGISTERED();
  PUSH("over");
  POP();
  CHECK(ncclGroupStart());
  CHECK(ncclRecv(rank->buffer, bytes, ncclInt8, 1, rank->communicator, rank->transfer));
  CHECK(ncclGroupEnd());
  POP_REGISTERED();
  wait_for_transfer(rank);
}

PART send_message(struct Rank* rank) {
  wait_for_compute(rank);
  CHECK(ncclSend(rank->buffer, bytes, ncclInt8, 1 - rank->number, rank->communicator, rank->transfer));
  wait_for_transfer(rank);
}

PART sum_up(struct Rank* rank) {
  wait_for_compute(rank);
  CHECK(ncclAllReduce(rank->buffer, rank->buffer, bytes, ncclInt8, ncclSum, rank->communicator, rank->transfer));
  wait_for_transfer(rank);
}

static void iteration(struct Rank* rank) {
  for (int i = 0; i < microbatches; ++i) {
    if (rank->number == 1) receive_activation(rank);
    compute(rank->memory, work_us, rank->compute);
    if (rank->number == 0) send_message(rank);
  }
  for (int i = 0; i < microbatches; ++i) {
    if (rank->number == 0) receive_gradient(rank);
    compute(rank->memory, work_us, rank->compute);
    if (rank->number == 1) send_message(rank);
  }
  sum_up(rank);
  CHECK(cuCtxSynchronize());
}

// A child of a process that Weft sees is not seen: it is as if Weft was not there.
static void call_in_a_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    PUSH("in a child");
    const int failed = ncclGroupStart() != ncclSuccess || ncclGroupEnd() != ncclSuccess;
    _exit(failed);
  }
  int status = 1;
  check(waitpid(child, &status, 0) != child || status != 0, "a child fails");
}

static void run(int number, void* shared) {
  static struct Rank rank;
  rank.number = number;
  use_device(number);
  rank.communicator = make_communicator(shared, 2, number);
  rank.compute = make_stream();
  rank.transfer = make_stream();
  rank.arrived = make_event();
  rank.computed = make_event();
  rank.memory = allocate(computed_bytes);
  rank.buffer = allocate(bytes);
  MAKE_DOMAIN();
  for (int i = 0; i < iterations; ++i) {
    if (i == iterations / 2) call_in_a_child();
    PUSH("iteration");
    iteration(&rank);
    POP();
  }
  CHECK(ncclCommDestroy(rank.communicator));
}

int main(void) {
  return run_ranks(2, run, shared_memory(sizeof(struct SharedId)));
}
