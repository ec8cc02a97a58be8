// Fill job: products of two square matrices. A unit makes two matrices from its number, multiplies them a few times and
// copies the last product to the host, which checks it exactly.
//
// Arguments: size=48 (rows and columns), products=8 (per unit). Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "matmul.h"
#include "matmul_values.h"
#include "support.h"

struct weft_fill_job {
  int size = 48;
  int products = 8;
  int blocks = 0;
  std::uint64_t done = 0;
  weft_fill_host host{};
  float *a = nullptr, *b = nullptr, *c = nullptr;  // device
  unsigned* seed = nullptr;                        // pinned: number of the unit
  float* result = nullptr;                         // pinned: copy of c
};

namespace {

template <class T>
T* device_array(const weft_fill_host& host, std::size_t count) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(host.allocate(host.context, count * sizeof(T))));
}

template <class T>
T* pinned_array(const weft_fill_host& host, std::size_t count) {
  return static_cast<T*>(host.allocate_host(host.context, count * sizeof(T)));
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  auto* job = new (std::nothrow) weft_fill_job;
  if (job == nullptr) return fill::fail(*host, "no host memory");
  job->host = *host;
  const std::array<fill::Argument, 2> known{{{"size", &job->size, 8, 16384}, {"products", &job->products, 1, 4096}}};
  std::string wrong = fill::read_arguments(arguments, known);
  const auto entries = static_cast<std::size_t>(job->size) * static_cast<std::size_t>(job->size);
  job->blocks = static_cast<int>(std::min<std::size_t>(host->max_blocks, (entries + 31) / 32));
  if (wrong.empty()) {
    job->a = device_array<float>(*host, entries);
    job->b = device_array<float>(*host, entries);
    job->c = device_array<float>(*host, entries);
    job->seed = pinned_array<unsigned>(*host, 1);
    job->result = pinned_array<float>(*host, entries);
    if (job->a == nullptr || job->b == nullptr || job->c == nullptr)
      wrong = "three matrices of " + std::to_string(entries * sizeof(float)) +
              " bytes do not fit into the memory cap of " + std::to_string(host->memory_cap) + " bytes";
    else if (job->seed == nullptr || job->result == nullptr)
      wrong = "no pinned host memory";
  }
  if (!wrong.empty()) {
    delete job;
    return fill::fail(*host, wrong);
  }
  *out = job;
  return 0;
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const auto bytes = static_cast<std::size_t>(job->size) * static_cast<std::size_t>(job->size) * sizeof(float);
  fill::launch_generate(job->seed, job->a, job->b, job->size, job->blocks, stream);
  for (int i = 0; i < job->products; ++i) fill::launch_product(job->a, job->b, job->c, job->size, job->blocks, stream);
  const cudaError_t error = cudaMemcpyAsync(job->result, job->c, bytes, cudaMemcpyDeviceToHost, stream);
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

int begin_unit(weft_fill_job* job, uint64_t unit) {
  *job->seed = static_cast<unsigned>(unit);
  return 0;
}

// For two vectors r and s of small whole numbers, r*(A*B)*s must equal (r*A)*(B*s): quadratic work for a cubic result,
// exact because every number stays below 2^53.
int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  const auto n = static_cast<std::size_t>(job->size);
  const auto seed = static_cast<unsigned>(unit);
  std::vector<double> left(n, 0.0), right(n, 0.0);
  double got = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double r = static_cast<double>(i % 5) + 1;
    for (std::size_t j = 0; j < n; ++j) {
      const double s = static_cast<double>(j % 3) + 1;
      const auto index = static_cast<unsigned>(i * n + j);
      left[j] += r * static_cast<double>(fill::value_of_a(seed, index));
      right[i] += s * static_cast<double>(fill::value_of_b(seed, index));
      got += r * s * static_cast<double>(job->result[index]);
    }
  }
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += left[i] * right[i];
  *correct = got == expected ? 1 : 0;
  ++job->done;
  return 0;
}

uint64_t save(weft_fill_job* job, void* buffer, uint64_t capacity) {
  if (buffer != nullptr && capacity >= sizeof job->done) *static_cast<uint64_t*>(buffer) = job->done;
  return sizeof job->done;
}

int restore(weft_fill_job* job, const void* buffer, uint64_t bytes) {
  if (bytes != sizeof job->done) return fill::fail(job->host, "saved progress has another size");
  job->done = *static_cast<const uint64_t*>(buffer);
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions kFunctions{sizeof(weft_fill_functions),
                                         WEFT_FILL_ABI_VERSION,
                                         0,
                                         "matmul",
                                         init,
                                         record_unit,
                                         begin_unit,
                                         end_unit,
                                         save,
                                         restore,
                                         destroy};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v1(void) {
  return &kFunctions;
}
