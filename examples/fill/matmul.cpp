// Fill job: products of two square matrices. A unit makes two matrices from its number, multiplies them a few times,
// checks every row of the last product exactly, and copies to the host how many rows are right. The check is part of
// the unit because end_unit must be short: until it has returned, Weft starts no other unit and sees no bubble end.
//
// Arguments: size=48 (rows and columns), products=8 (per unit). Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>

#include "matmul.h"
#include "support.h"

struct weft_fill_job {
  int size = 48;
  int products = 8;
  int blocks = 0;
  std::uint64_t done = 0;
  weft_fill_host host{};
  float *a = nullptr, *b = nullptr, *c = nullptr;  // device
  double* weighted = nullptr;                      // device: for the check
  unsigned* right_rows = nullptr;                  // device
  unsigned* seed = nullptr;                        // pinned: number of the unit
  unsigned* result = nullptr;                      // pinned: copy of right_rows
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
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    const std::array<fill::Argument, 2> known{{{"size", &job.size, 8, 16384}, {"products", &job.products, 1, 4096}}};
    std::string wrong = fill::read_arguments(arguments, known);
    const auto entries = static_cast<std::size_t>(job.size) * static_cast<std::size_t>(job.size);
    job.blocks = static_cast<int>(std::min<std::size_t>(host->max_blocks, (entries + 31) / 32));
    if (wrong.empty()) {
      job.a = device_array<float>(*host, entries);
      job.b = device_array<float>(*host, entries);
      job.c = device_array<float>(*host, entries);
      job.weighted = device_array<double>(*host, static_cast<std::size_t>(job.size));
      job.right_rows = device_array<unsigned>(*host, 1);
      job.seed = pinned_array<unsigned>(*host, 1);
      job.result = pinned_array<unsigned>(*host, 1);
      if (job.a == nullptr || job.b == nullptr || job.c == nullptr || job.weighted == nullptr ||
          job.right_rows == nullptr)
        wrong = "three matrices of " + std::to_string(entries * sizeof(float)) +
                " bytes do not fit into the memory cap of " + std::to_string(host->memory_cap) + " bytes";
      else if (job.seed == nullptr || job.result == nullptr)
        wrong = "no pinned host memory";
    }
    return wrong;
  });
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  fill::launch_generate(job->seed, job->a, job->b, job->size, job->blocks, stream);
  for (int i = 0; i < job->products; ++i) fill::launch_product(job->a, job->b, job->c, job->size, job->blocks, stream);
  fill::launch_check(job->seed, job->c, job->weighted, job->right_rows, job->size, job->blocks, stream);
  const cudaError_t error =
      cudaMemcpyAsync(job->result, job->right_rows, sizeof *job->result, cudaMemcpyDeviceToHost, stream);
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

int begin_unit(weft_fill_job* job, uint64_t unit) {
  *job->seed = static_cast<unsigned>(unit);
  *job->result = 0;  // a unit that never reached its last copy is not right
  return 0;
}

int end_unit(weft_fill_job* job, uint64_t, int* correct) {
  *correct = *job->result == static_cast<unsigned>(job->size) ? 1 : 0;
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

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "matmul",
                                        init,
                                        record_unit,
                                        begin_unit,
                                        end_unit,
                                        save,
                                        restore,
                                        destroy,
                                        nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}
