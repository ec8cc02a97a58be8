/* A fill job without kernels that reads records: a unit copies each input to the output of the same name, and check()
 * compares. Arguments: "<records of a unit>,<input>[,<trick>]", where a trick makes it do something wrong, or is "slow":
 * then it copies so often that a unit takes some milliseconds. */
#include <dlfcn.h>
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
  weft_fill_tensor tensor;
  char name[64], trick[16];
  unsigned per_unit;
  size_t bytes;
  uint64_t input, output, input_lengths, output_lengths; /* on the device */
  CUresult (*copy)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
};

static int is(const weft_fill_job* job, const char* trick) {
  return strcmp(job->trick, trick) == 0;
}

static int init(const weft_fill_host* host, const char* args, weft_fill_job** out) {
  weft_fill_job* const job = calloc(1, sizeof *job);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const copy = library == NULL ? NULL : dlsym(library, "cuMemcpyDtoDAsync_v2");
  static const size_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  if (job == NULL || copy == NULL) return 1;
  memcpy(&job->copy, &copy, sizeof copy);
  job->host = *host;
  if (sscanf(args, "%u,%63[^,],%15s", &job->per_unit, job->name, job->trick) < 2) {
    host->fail(host->context, "arguments are <records of a unit>,<input>");
    return free(job), 1;
  }
  if (host->struct_size < offsetof(weft_fill_host, output) + sizeof host->output) return free(job), 1;
  if (!host->describe_input(host->context, job->name, &job->tensor)) {
    host->fail(host->context, "there is no such input");
    return free(job), 1;
  }
  if (is(job, "type")) job->tensor.type = WEFT_FLOAT64;
  job->bytes = bytes[job->tensor.type];
  for (uint32_t dimension = 0; dimension < job->tensor.dimensions; ++dimension) job->bytes *= job->tensor.shape[dimension];
  if (host->records(host->context, job->per_unit, NULL) != 0) return free(job), 1;
  job->input = host->input(host->context, &job->tensor, &job->input_lengths);
  job->output = host->output(host->context, &job->tensor, &job->output_lengths);
  if (job->input == 0 || job->output == 0) return free(job), 1;
  *out = job;
  return 0;
}

static int record_unit(weft_fill_job* job, weft_stream stream) {
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < (is(job, "slow") ? 100 : 1) && result == CUDA_SUCCESS; ++i)
    result = job->copy(job->output, job->input, job->per_unit * job->bytes, stream);
  if (result == CUDA_SUCCESS && job->tensor.variable == 1)
    result = job->copy(job->output_lengths, job->input_lengths, job->per_unit * sizeof(uint32_t), stream);
  return result == CUDA_SUCCESS ? 0 : 1;
}

static int check(weft_fill_job* job, const weft_fill_records* records, int* correct) {
  *correct = records->count >= 1 && records->count <= job->per_unit &&
             memcmp(records->inputs[0], records->outputs[0], records->count * job->bytes) == 0;
  if (job->tensor.variable == 1)
    *correct = *correct && memcmp(records->input_lengths[0], records->output_lengths[0],
                                  records->count * sizeof(uint32_t)) == 0;
  if (is(job, "wrong") && records->numbers[0] != 0) *correct = 0;
  if (is(job, "fails") && records->numbers[0] != 0) return job->host.fail(job->host.context, "as asked"), 1;
  return 0;
}

static void destroy(weft_fill_job* job) {
  free(job);
}

__attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {
      sizeof functions, WEFT_FILL_ABI_VERSION, 0, "echo", init, record_unit, NULL, NULL, NULL, NULL, destroy, check};
  return &functions;
}
