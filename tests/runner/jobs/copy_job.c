/* A sound fill job without kernels: a unit sends a block of numbers through a chain of device buffers and back to the
 * host, which compares. Arguments: "<steps>,<bytes>[,<trick>]", where a trick makes it do something that is refused, or
 * that few jobs do. "marked": as many bytes, which may leave the device, keep the numbers of a unit until the next one
 * has brought them back. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With __CUDA_API_VERSION_INTERNAL every name in cuda.h is the ABI of that name. */
#include <cuda.h>

#include "weft/fill.h"

struct weft_fill_job {
  weft_fill_host host;
  int steps;
  size_t bytes;
  char trick[16];
  uint64_t done; /* units, over all runs */
  uint64_t next; /* its number */
  int asked;     /* for its progress */
  CUdeviceptr blocks[2];
  CUdeviceptr own; /* not out of the reservation */
  uint32_t* input;
  uint32_t* output;
  CUdeviceptr marked; /* 0: without that trick */
  uint32_t* before;   /* that was there when the unit began */
  uint32_t* expected; /* there */
  uint32_t* again; /* whether another pass follows */
  uint32_t* ring;  /* of its values, one for each pass of a unit */
  CUresult (*host_to_device)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*device_to_host)(void*, CUdeviceptr, size_t, CUstream);
  CUresult (*device_to_device)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
  CUresult (*set)(CUdeviceptr, unsigned char, size_t, CUstream);
  CUresult (*call_host)(CUstream, CUhostFn, void*);
  CUresult (*allocate)(CUdeviceptr*, size_t);
  CUresult (*release)(CUdeviceptr);
};

static void find(void* library, const char* name, void* function) {
  void* const symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
}

/* Stays inside long enough for another thread to come in, if one may. */
static int is_alone(void) {
  static int inside;
  const struct timespec moment = {0, 300000000};
  const int alone = __atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL) == 1;
  nanosleep(&moment, NULL);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL);
  return alone;
}

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int is_trial(void) {
  return strcmp(program_invocation_short_name, "weft-fill-probe") == 0;
}

static int refuse(weft_fill_job* job, const char* why) {
  job->host.fail(job->host.context, why);
  free(job);
  return 1;
}

static int init(const weft_fill_host* host, const char* args, weft_fill_job** out) {
  weft_fill_job* const job = calloc(1, sizeof *job); /* one for each device */
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  unsigned long long bytes = 0;
  static int times_in_training;
  struct timespec slow = {0, 0};
  if (job == NULL) return 1;
  job->host = *host;
  if (sscanf(args, "%d,%llu,%15s", &job->steps, &bytes, job->trick) < 2 || library == NULL)
    return refuse(job, "arguments are <steps>,<bytes>");
  if (strcmp(job->trick, "alone") == 0 && !is_alone()) return refuse(job, "another thread is inside");
  if (!is_trial() && strcmp(job->trick, "never") == 0) return refuse(job, "not in a training");
  if (!is_trial() && strcmp(job->trick, "once") == 0 && times_in_training++ > 0) return refuse(job, "not again");
  /* Seconds: everywhere, only in the training, or only in the trial. */
  if (sscanf(job->trick, "sleep%ld", &slow.tv_sec) == 1 ||
      (!is_trial() && sscanf(job->trick, "stand%ld", &slow.tv_sec) == 1) ||
      (is_trial() && sscanf(job->trick, "tried%ld", &slow.tv_sec) == 1))
    nanosleep(&slow, NULL);
  job->bytes = (size_t)bytes;
  find(library, "cuMemcpyHtoDAsync_v2", &job->host_to_device);
  find(library, "cuMemcpyDtoHAsync_v2", &job->device_to_host);
  find(library, "cuMemcpyDtoDAsync_v2", &job->device_to_device);
  find(library, "cuMemsetD8Async", &job->set);
  find(library, "cuLaunchHostFunc", &job->call_host);
  find(library, "cuMemAlloc_v2", &job->allocate);
  find(library, "cuMemFree_v2", &job->release);
  for (int block = 0; block < 2; ++block) job->blocks[block] = host->allocate(host->context, job->bytes);
  job->input = host->allocate_host(host->context, job->bytes);
  job->output = host->allocate_host(host->context, job->bytes);
  if (job->blocks[1] == 0 || job->input == NULL || job->output == NULL) return refuse(job, "no memory");
  if (strncmp(job->trick, "marked", 6) == 0) {
    job->marked = host->between_bubbles_on_host(host->context, job->bytes);
    job->before = host->allocate_host(host->context, job->bytes);
    job->expected = calloc(1, job->bytes);
    if (job->marked == 0 || job->before == NULL || job->expected == NULL) return refuse(job, "no memory to mark");
  }
  if (strncmp(job->trick, "pass", 4) == 0) { /* three passes, or without an end */
    job->again = host->passes(host->context, 3);
    job->ring = host->allocate_host(host->context, 3 * sizeof *job->ring);
    if (job->again == NULL || job->ring == NULL) return refuse(job, "no word for passes");
    job->ring[0] = job->ring[1] = 1;
    job->ring[2] = strcmp(job->trick, "passes") != 0;
  }
  for (int left = strcmp(job->trick, "pending") == 0 ? 100 : 0; left > 0; --left) /* not over when init is */
    if (job->set(job->blocks[0], 0, job->bytes, NULL) != CUDA_SUCCESS) return refuse(job, "no work");
  /* "tried6frees", for one: a call that may wait for the whole GPU, when another thread has gone on for a while. */
  if (strstr(job->trick, "frees") != NULL) {
    sleep_ms(200);
    if (job->allocate(&job->own, 1u << 20) != CUDA_SUCCESS || job->release(job->own) != CUDA_SUCCESS)
      return refuse(job, "no memory of its own");
    job->own = 0;
  }
  if (strcmp(job->trick, "own") == 0 && job->allocate(&job->own, 128u << 20) != CUDA_SUCCESS)
    return refuse(job, "no memory of its own");
  *out = job;
  return 0;
}

static void nothing(void* data) {
  (void)data;
}

/* The first value of the ring goes into the word, and to the end of the ring. */
static int turn_ring(weft_fill_job* job, CUstream stream) {
  const size_t one = sizeof *job->ring;
  const CUdeviceptr block = job->blocks[0];
  return job->host_to_device(block, job->ring, 3 * one, stream) != CUDA_SUCCESS ||
         job->device_to_host(job->ring, block + one, 2 * one, stream) != CUDA_SUCCESS ||
         job->device_to_host(job->ring + 2, block, one, stream) != CUDA_SUCCESS ||
         job->device_to_host(job->again, block, one, stream) != CUDA_SUCCESS;
}

static int record_unit(weft_fill_job* job, weft_stream handle) {
  const CUstream stream = (CUstream)handle;
  int wrong = job->host_to_device(job->blocks[0], job->input, job->bytes, stream) != CUDA_SUCCESS;
  for (int step = 0; step < job->steps; ++step) {
    wrong |= job->set(job->blocks[(step + 1) % 2], 0, job->bytes, stream) != CUDA_SUCCESS;
    wrong |=
        job->device_to_device(job->blocks[(step + 1) % 2], job->blocks[step % 2], job->bytes, stream) != CUDA_SUCCESS;
  }
  if (job->marked != 0)
    wrong |= job->device_to_host(job->before, job->marked, job->bytes, stream) != CUDA_SUCCESS ||
             job->host_to_device(job->marked, job->input, job->bytes, stream) != CUDA_SUCCESS;
  if (strcmp(job->trick, "host") == 0) wrong |= job->call_host(stream, nothing, NULL) != CUDA_SUCCESS;
  wrong |= job->device_to_host(job->output, job->blocks[job->steps % 2], job->bytes, stream) != CUDA_SUCCESS;
  if (job->ring != NULL) wrong |= turn_ring(job, stream);
  if (wrong) job->host.fail(job->host.context, "a copy could not be enqueued");
  return wrong;
}

static int begin_unit(weft_fill_job* job, uint64_t unit) {
  if (strcmp(job->trick, "crash") == 0 && unit == 0) abort();
  if (unit != job->next) {
    job->host.fail(job->host.context, "units are not in order");
    return 1;
  }
  for (size_t index = 0; index < job->bytes / sizeof(uint32_t); ++index)
    job->input[index] = (uint32_t)(unit * 2654435761u + index);
  memset(job->output, 0xff, job->bytes);
  return 0;
}

static int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  job->next = unit + 1;
  ++job->done;
  *correct = memcmp(job->input, job->output, job->bytes) == 0 && strcmp(job->trick, "wrong") != 0 &&
             (job->ring == NULL || job->ring[2] == 0); /* which is where it was */
  if (job->marked != 0) {
    *correct &= memcmp(job->before, job->expected, job->bytes) == 0;
    memcpy(job->expected, job->input, job->bytes);
  }
  return 0;
}

/* For tests in the same process: it is being asked for its progress. */
__attribute__((visibility("default"))) int copy_job_saves;

static uint64_t save(weft_fill_job* job, void* buffer, uint64_t capacity) {
  long seconds = 0;
  (void)sscanf(job->trick, "slowsave%ld", &seconds);
  if (strcmp(job->trick, "unsaved") == 0) { /* once, and never when its memory is gone */
    if (job->asked++ > 0) abort();
    return 0;
  }
  if (strcmp(job->trick, "markedsave") == 0 && /* which must not touch it */
      (job->device_to_host(job->output, job->marked, job->bytes, NULL) != CUDA_SUCCESS))
    abort();
  if (strcmp(job->trick, "badsave") == 0) return capacity + sizeof job->done; /* more than it said */
  if (strncmp(job->trick, "slowsave", 8) == 0 && (seconds == 0 || !is_trial())) { /* 300 ms, or so many seconds */
    __atomic_store_n(&copy_job_saves, 1, __ATOMIC_RELEASE);
    sleep_ms(seconds == 0 ? 300 : 1000 * seconds);
    __atomic_store_n(&copy_job_saves, 0, __ATOMIC_RELEASE);
  }
  if (buffer != NULL && capacity >= sizeof job->done) memcpy(buffer, &job->done, sizeof job->done);
  return sizeof job->done;
}

static int restore(weft_fill_job* job, const void* buffer, uint64_t bytes) {
  char line[64];
  if (bytes != sizeof job->done || strcmp(job->trick, "refuses") == 0) return 1;
  memcpy(&job->done, buffer, sizeof job->done);
  snprintf(line, sizeof line, "takes up %llu units", (unsigned long long)job->done);
  job->host.log(job->host.context, line);
  return 0;
}

static void destroy(weft_fill_job* job) {
  memset(job->output, 0, job->bytes); /* its pinned memory is its own until now */
  if (job->own != 0) job->release(job->own);
  free(job->expected);
  free(job);
}

__attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {sizeof(weft_fill_functions),
                                                WEFT_FILL_ABI_VERSION,
                                                0,
                                                "copy",
                                                init,
                                                record_unit,
                                                begin_unit,
                                                end_unit,
                                                save,
                                                restore,
                                                destroy,
                                                NULL};
  return &functions;
}
