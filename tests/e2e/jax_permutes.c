// The calls of a JAX program: one process drives several devices. A collective permute is a group of a receive and a send
// on an asynchronous stream of the highest priority of each device, and compute waits for it by an event. Communicators
// do not block: each call is followed by asking for their state.
//   jax_permutes one|threads
// one: the same thread calls for all devices, and a group is on all communicators; threads: one thread makes the
// communication of a device, another one the compute and the waits of all devices.
#include <pthread.h>
#include <stdbool.h>

#include "ranks.h"

enum { devices = 3, iterations = 24, microbatches = 4, sent = 1 << 16, step_us = 2000 };

struct Device {
  int number;
  CUcontext context;
  ncclComm_t communicator;
  CUstream compute, transfer;
  CUevent computed, arrived;
  void *out, *in, *memory;
};

static struct Device device[devices];
static atomic_int begun, issued[devices];  // microbatches, in the order of the program
static bool threads;

static void wait_for_nccl(ncclComm_t communicator, ncclResult_t result) {
  for (; result == ncclInProgress; usleep(50)) CHECK(ncclCommGetAsyncError(communicator, &result));
  check(result, "a call of NCCL");
}

static void set_up_device(int number) {
  struct Device* const mine = &device[number];
  int least = 0, greatest = 0;
  mine->number = number;
  mine->context = use_device(number);
  mine->compute = make_stream();
  CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
  CHECK(cuStreamCreateWithPriority(&mine->transfer, CU_STREAM_NON_BLOCKING, greatest));
  mine->computed = make_event();
  mine->arrived = make_event();
  mine->out = allocate(sent);
  mine->in = allocate(sent);
  mine->memory = allocate(computed_bytes);
}

// On a pool of threads, as XLA makes its cliques.
static ncclUniqueId id;
static void* join(void* argument) {
  struct Device* const mine = argument;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  CHECK(cuCtxSetCurrent(mine->context));
  const ncclResult_t result = ncclCommInitRankConfig(&mine->communicator, devices, id, mine->number, &config);
  wait_for_nccl(mine->communicator, result);
  return NULL;
}

static void for_each_device(void* (*work)(void*)) {
  pthread_t thread[devices];
  for (int i = 0; i < devices; ++i) CHECK(pthread_create(&thread[i], NULL, work, &device[i]));
  for (int i = 0; i < devices; ++i) CHECK(pthread_join(thread[i], NULL));
}

static void permute(const struct Device* mine) {
  CHECK(cuCtxSetCurrent(mine->context));
  const int next = (mine->number + 1) % devices, last = (mine->number + devices - 1) % devices;
  ncclResult_t result = ncclRecv(mine->in, sent, ncclInt8, last, mine->communicator, mine->transfer);
  if (result != ncclInProgress) CHECK(result);
  result = ncclSend(mine->out, sent, ncclInt8, next, mine->communicator, mine->transfer);
  if (result != ncclInProgress) CHECK(result);
}

static void permute_all(void) {
  for (int i = 0; i < devices; ++i) CHECK(cuStreamWaitEvent(device[i].transfer, device[i].computed, 0));
  CHECK(ncclGroupStart());
  for (int i = 0; i < devices; ++i) permute(&device[i]);
  const ncclResult_t result = ncclGroupEnd();
  for (int i = 0; i < devices; ++i) wait_for_nccl(device[i].communicator, result);
  for (int i = 0; i < devices; ++i) CHECK(cuEventRecord(device[i].arrived, device[i].transfer));
}

// The communication of one device, behind the thread that computes.
static void* communicate(void* argument) {
  const struct Device* const mine = argument;
  CHECK(cuCtxSetCurrent(mine->context));
  for (int i = 1; i <= iterations * microbatches; ++i) {
    while (begun < i) usleep(20);
    CHECK(cuStreamWaitEvent(mine->transfer, mine->computed, 0));
    CHECK(ncclGroupStart());
    permute(mine);
    wait_for_nccl(mine->communicator, ncclGroupEnd());
    CHECK(cuEventRecord(mine->arrived, mine->transfer));
    issued[mine->number] = i;
  }
  return NULL;
}

// In turn one device computes for longer, and the others wait for it.
static void compute_all(int number) {
  for (int i = 0; i < devices; ++i) {
    CHECK(cuCtxSetCurrent(device[i].context));
    compute(device[i].memory, number % devices == i ? 2 * step_us : step_us / 4, device[i].compute);
    CHECK(cuEventRecord(device[i].computed, device[i].compute));
  }
}

static void microbatch(int number) {
  compute_all(number);
  begun = number;
  if (!threads) permute_all();
  for (int i = 0; i < devices; ++i) {
    if (threads) wait_until(&issued[i], number);
    // With another device's context current.
    CHECK(cuStreamWaitEvent(device[i].compute, device[i].arrived, 0));
  }
}

static void* train(void* unused) {
  int number = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (int i = 0; i < microbatches; ++i) microbatch(++number);
    for (int i = 0; i < devices; ++i) CHECK(cuStreamSynchronize(device[i].compute));
  }
  return unused;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  threads = strcmp(arguments[1], "threads") == 0;
  for (int i = 0; i < devices; ++i) set_up_device(i);
  CHECK(ncclGetUniqueId(&id));
  for_each_device(join);
  pthread_t trainer;
  CHECK(pthread_create(&trainer, NULL, train, NULL));
  if (threads) for_each_device(communicate);
  CHECK(pthread_join(trainer, NULL));
  for (int i = 0; i < devices; ++i) {
    CHECK(cuCtxSetCurrent(device[i].context));
    CHECK(cuCtxSynchronize());
    wait_for_nccl(device[i].communicator, ncclCommFinalize(device[i].communicator));
    CHECK(ncclCommDestroy(device[i].communicator));
  }
  return 0;
}
