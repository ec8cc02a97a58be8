// The least that is a useful fill job: a unit adds one to a million numbers, sixteen times. How to build and try it is
// in README.md; what Weft does with it, call by call, in weft/fill.h. matmul.cpp shows checked results and progress.
#include <cstdint>

#include "weft/fill.h"

struct weft_fill_job {
  weft_fill_host host;
  float* numbers;
};

namespace {

constexpr int number_count = 1 << 20, steps = 16, threads_per_block = 256;

__global__ void add_one(float* numbers, int count) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += stride) numbers[i] += 1;
}

weft_fill_job job;  // enough for one device

int init(const weft_fill_host* host, const char*, weft_fill_job** out) {
  job.host = *host;
  job.numbers =
      reinterpret_cast<float*>(static_cast<uintptr_t>(host->allocate(host->context, number_count * sizeof(float))));
  if (job.numbers == nullptr) return host->fail(host->context, "4 MiB do not fit into WEFT_MEMORY"), 1;
  host->log(host->context, "ready");  // shown with WEFT_LOG=info
  *out = &job;
  return 0;
}

// Short kernels make short slices. Never more blocks than max_blocks: the rest of the GPU stays free for NCCL.
int record_unit(weft_fill_job* self, weft_stream stream) {
  for (int step = 0; step < steps; ++step)
    add_one<<<self->host.max_blocks, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(self->numbers,
                                                                                                number_count);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : (self->host.fail(self->host.context, cudaGetErrorString(error)), 1);
}

int begin_unit(weft_fill_job*, uint64_t) {
  return 0;
}
int end_unit(weft_fill_job*, uint64_t, int* correct) {
  *correct = -1;  // not checked
  return 0;
}
void destroy(weft_fill_job*) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {
      sizeof functions, WEFT_FILL_ABI_VERSION, 0, "minimal", init, record_unit, begin_unit, end_unit, nullptr, nullptr,
      destroy, nullptr};
  return &functions;
}
