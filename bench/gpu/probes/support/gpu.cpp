// See gpu.h.
#include "gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "work.h"

extern "C" const unsigned char probe_kernel_image[];  // kernels_image.S

namespace probe {
namespace {

constexpr const char* kernel_names[] = {"probe_spin",    "probe_busy",   "probe_resident",
                                        "probe_compute", "probe_stream", "probe_where"};
static_assert(std::size(kernel_names) == static_cast<std::size_t>(Kernel::count));
// NCCL's kernels ask for this much on compute capability 9.0.
constexpr unsigned shared_of_nccl = 82 * 1024;

std::mutex name_mutex;
DeviceName name_found;

void find_device(Gpu& found) {
  if (driver().cuInit(0) != CUDA_SUCCESS) throw Skipped("the CUDA driver finds no GPU");
  int count = 0;
  if (driver().cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) throw Skipped("there is no GPU");
  const char* asked = std::getenv("WEFT_PROBE_DEVICE");  // as runner/options/asking.h has it
  check(driver().cuDeviceGet(&found.device, asked == nullptr ? 0 : std::atoi(asked)));
  char name[256] = "";
  check(driver().cuDeviceGetName(name, sizeof name, found.device));
  const std::lock_guard lock(name_mutex);
  name_found = {name, std::string_view(name).starts_with("Simulated")};
}

int attribute_of(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device));
  return value;
}

void load_kernels(Gpu& found) {
  check(driver().cuModuleLoadData(&found.module, probe_kernel_image));
  for (std::size_t index = 0; index < found.functions.size(); ++index) {
    check(driver().cuModuleGetFunction(&found.functions[index], found.module, kernel_names[index]));
    check(driver().cuFuncLoad(found.functions[index]));
  }
  check(driver().cuFuncSetAttribute(found.functions[static_cast<std::size_t>(Kernel::spin)],
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(found.shared_of_spin)));
}

Gpu open_gpu() {
  Gpu found;
  find_device(found);
  check(driver().cuDevicePrimaryCtxRetain(&found.context, found.device));
  check(driver().cuCtxSetCurrent(found.context));
  found.multiprocessors = attribute_of(found.device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  found.major = attribute_of(found.device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int most = attribute_of(found.device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  found.shared_of_spin = std::min(shared_of_nccl, static_cast<unsigned>(most));
  check(driver().cuCtxGetStreamPriorityRange(&found.lowest_priority, &found.highest_priority));
  load_kernels(found);
  return found;
}

}  // namespace

const Gpu& gpu() {
  static const Gpu found = open_gpu();
  return found;
}

void use_gpu() {
  static std::once_flag warm;
  check(driver().cuCtxSetCurrent(gpu().context));
  std::call_once(warm, warm_up);
}

DeviceName device_name() {
  const std::lock_guard lock(name_mutex);
  return name_found;
}

const void* kernel_image() {
  return probe_kernel_image;
}

int attribute(CUdevice_attribute which) {
  return attribute_of(gpu().device, which);
}

CUstream make_stream(std::optional<int> priority, unsigned flags) {
  CUstream stream = nullptr;
  check(driver().cuStreamCreateWithPriority(&stream, flags, priority.value_or(gpu().lowest_priority)));
  return stream;
}

CUevent make_event(unsigned flags) {
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, flags));
  return event;
}

void* make_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  return memory;
}

CUdeviceptr make_device_memory(std::size_t bytes) {
  CUdeviceptr memory = 0;
  check(driver().cuMemAlloc(&memory, bytes));
  check(driver().cuMemsetD8(memory, 0, bytes));
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY));
  return memory;
}

void launch_with(CUfunction function, const Shape& shape, CUstream stream, void** arguments) {
  CUlaunchAttribute attributes[2]{};
  CUlaunchConfig config{};
  config.gridDimX = shape.blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shape.shared;
  config.hStream = stream;
  config.attrs = attributes;
  if (shape.cluster > 1) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[config.numAttrs++].value.clusterDim = {shape.cluster, 1, 1};
  }
  if (shape.priority) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attributes[config.numAttrs++].value.priority = *shape.priority;
  }
  check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr));
}

bool wait_for(const std::function<bool()>& condition, double milliseconds) {
  const int64_t limit = now() + static_cast<int64_t>(milliseconds * 1e6);
  while (!condition()) {
    if (now() > limit) return condition();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

void sleep_milliseconds(double milliseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

double slack() {
  return device_name().simulated ? 4 : 1;
}

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool is_done(CUevent event) {
  const CUresult result = driver().cuEventQuery(event);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result);
  return true;
}

double elapsed_microseconds(CUevent from, CUevent to) {
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, from, to));
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace probe
