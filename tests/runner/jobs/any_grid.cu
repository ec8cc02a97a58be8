// A fill job of kernels as real programs have them: grids of 10,000 blocks, launches that may begin before the one ahead
// of them is over, child graphs, event records, and kernels of a module. Each unit is checked.
//
// Arguments, separated by commas: KERNELS,OPERATIONS[,early][,child][,event][,module]: so many kernels in a unit, of so
// many floating-point operations each.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/fill.h"

struct weft_fill_job {
  weft_fill_host host;
  int* numbers;
  int* total;  // pinned
  int kernels = 1;
  double operations = 0;
  bool early = false, child = false, event = false, module = false;
  cudaGraphExec_t inner = nullptr;
  cudaEvent_t noted = nullptr;
  CUfunction function = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
};

extern "C" {

__global__ void any_grid_add(int* numbers, int count, double operations) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float value = 1;
  for (double done = 0; done < operations / stride; ++done) value = value * 1.0001F + 1;
  for (int i = first; i < count; i += stride) numbers[i] += value > 0 ? 1 : 2;
}

__global__ void any_grid_total(const int* numbers, int count, int* total) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += numbers[i];
  *total = sum;
}

}  // extern "C"

namespace {

constexpr unsigned blocks = 10'000, threads = 256;
constexpr int number_count = 4096;

weft_fill_job job;  // enough for one device

int fail(const char* what) {
  job.host.fail(job.host.context, what);
  return 1;
}

cudaError_t add(cudaStream_t stream) {
  int count = number_count;
  if (job.function != nullptr) {
    void* arguments[] = {&job.numbers, &count, &job.operations};
    const CUresult result =
        job.launch(job.function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorLaunchFailure;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = job.early ? 1 : 0;
  return cudaLaunchKernelEx(&config, any_grid_add, job.numbers, count, job.operations);
}

bool make_child() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
         cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess && add(stream) == cudaSuccess &&
         cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
         cudaGraphInstantiate(&job.inner, graph, 0) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess;
}

template <class Function>
bool find(const char* name, Function& function) {
  void* address = nullptr;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, nullptr);
  function = reinterpret_cast<Function>(address);
  return error == cudaSuccess && address != nullptr;
}

bool load_module() {
  static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
  CUmodule module = nullptr;
  decltype(&cuModuleLoadData) load = nullptr;
  decltype(&cuModuleGetFunction) get = nullptr;
  return find("cuModuleLoadData", load) && find("cuModuleGetFunction", get) && find("cuLaunchKernel", job.launch) &&
         load(&module, ptx) == CUDA_SUCCESS && get(&job.function, module, "any_grid_add") == CUDA_SUCCESS;
}

int init(const weft_fill_host* host, const char* args, weft_fill_job** out) {
  job = {};
  job.host = *host;
  job.kernels = std::atoi(args);
  const char* const operations = std::strchr(args, ',');
  if (operations != nullptr) job.operations = std::atof(operations + 1);
  job.early = std::strstr(args, "early") != nullptr;
  job.child = std::strstr(args, "child") != nullptr;
  job.event = std::strstr(args, "event") != nullptr;
  job.module = std::strstr(args, "module") != nullptr;
  job.numbers =
      reinterpret_cast<int*>(static_cast<uintptr_t>(host->allocate(host->context, number_count * sizeof(int))));
  job.total = static_cast<int*>(host->allocate_host(host->context, sizeof(int)));
  if (job.numbers == nullptr || job.total == nullptr) return fail("no memory");
  if (job.module && !load_module()) return fail("no module");
  if (job.child && !make_child()) return fail("no child graph");
  if (job.event && cudaEventCreateWithFlags(&job.noted, cudaEventDisableTiming) != cudaSuccess) return fail("no event");
  *out = &job;
  return 0;
}

int record_unit(weft_fill_job*, weft_stream handle) {
  const auto stream = static_cast<cudaStream_t>(handle);
  bool done = cudaMemsetAsync(job.numbers, 0, number_count * sizeof(int), stream) == cudaSuccess;
  for (int kernel = 0; kernel < job.kernels; ++kernel) {
    done = done && (job.child ? cudaGraphLaunch(job.inner, stream) : add(stream)) == cudaSuccess;
    if (job.event) done = done && cudaEventRecordWithFlags(job.noted, stream, cudaEventRecordExternal) == cudaSuccess;
  }
  any_grid_total<<<1, 1, 0, stream>>>(job.numbers, number_count, job.total);
  done = done && cudaGetLastError() == cudaSuccess;
  return done ? 0 : fail("the unit cannot be recorded");
}

int begin_unit(weft_fill_job*, uint64_t) {
  *job.total = -1;
  return 0;
}
int end_unit(weft_fill_job*, uint64_t, int* correct) {
  *correct = *job.total == number_count * job.kernels ? 1 : 0;
  return 0;
}
void destroy(weft_fill_job*) {
  if (job.inner != nullptr) cudaGraphExecDestroy(job.inner);
  if (job.noted != nullptr) cudaEventDestroy(job.noted);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  static const weft_fill_functions functions = {
      sizeof functions, WEFT_FILL_ABI_VERSION, 0, "any_grid", init, record_unit, begin_unit, end_unit, nullptr, nullptr,
      destroy, nullptr};
  return &functions;
}
