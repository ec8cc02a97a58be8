// The fill job @NAME@: reads records of numbers, `x`, and gives one number for each, `y`. weft/fill.h has the contract.
//
// Arguments: none. Change arithmetic.h, the kernel and the tensors in init().
#include <cmath>
#include <cstdint>
#include <new>

#include "arithmetic.h"
#include "weft/fill.h"

struct weft_fill_job {
  weft_fill_host host;
  std::uint32_t longest;         // numbers of a record at most
  const float* x;                // on the device, as all of these
  const std::uint32_t* lengths;  // of each record of the unit
  float* y;
};

// Records that are not there, at the end of the file, have the length 0.
extern "C" __global__ void @NAME@_kernel(const float* x, const std::uint32_t* lengths, std::uint32_t longest, float* y,
                                         std::uint32_t count) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    y[i] = root_mean_square(x + std::size_t{i} * longest, lengths[i]);
}

namespace {

constexpr std::uint32_t records = 64;  // of a unit

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

// Asks for all that it needs. Where the host refuses something it knows why, and says so.
int init(const weft_fill_host* host, const char*, weft_fill_job** out) {
  weft_fill_tensor x{};
  if (host->describe_input(host->context, "x", &x) == 0)
    return host->fail(host->context, "the records have no 'x'"), 1;
  if (x.dimensions != 1) return host->fail(host->context, "'x' of a record is not one list of numbers"), 1;
  x.type = WEFT_FLOAT32;
  x.variable = 1;
  weft_fill_tensor y{};
  y.name = "y";
  y.type = WEFT_FLOAT32;
  std::uint64_t lengths = 0;
  if (host->records(host->context, records, nullptr) != 0) return 1;
  const std::uint64_t input = host->input(host->context, &x, &lengths), output = host->output(host->context, &y, nullptr);
  if (input == 0 || output == 0) return 1;
  auto* const job = new (std::nothrow) weft_fill_job{*host, static_cast<std::uint32_t>(x.shape[0]),
                                                     pointer<const float>(input), pointer<const std::uint32_t>(lengths),
                                                     pointer<float>(output)};
  *out = job;
  return job == nullptr ? 1 : 0;
}

// The work of a unit, which Weft cuts into slices: several short kernels are better than a long one. No more blocks than
// max_blocks: the rest of the GPU stays free for NCCL.
int record_unit(weft_fill_job* job, weft_stream stream) {
  constexpr unsigned threads = 32;
  const unsigned wanted = (records + threads - 1) / threads;
  const unsigned blocks = wanted < job->host.max_blocks ? wanted : job->host.max_blocks;
  @NAME@_kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(job->x, job->lengths, job->longest, job->y,
                                                                          records);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : (job->host.fail(job->host.context, cudaGetErrorString(error)), 1);
}

// On the host, in under a millisecond: the first record of the unit.
int check(weft_fill_job*, const weft_fill_records* done, int* correct) {
  const auto* const x = static_cast<const float*>(done->inputs[0]);
  const auto* const y = static_cast<const float*>(done->outputs[0]);
  const float wanted = root_mean_square(x, done->input_lengths[0][0]);
  *correct = std::fabs(y[0] - wanted) <= 1e-5F * (1 + wanted) ? 1 : 0;
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {sizeof functions, WEFT_FILL_ABI_VERSION, 0, "@NAME@", init, record_unit,
                                                nullptr, nullptr, nullptr, nullptr, destroy, check};
  return &functions;
}
