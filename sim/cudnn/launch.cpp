// The table of kernels, and their launch. See the header.
#include "launch.h"

#include <simgpu/constants.h>

#include <algorithm>
#include <mutex>

namespace simgpu::cudnn {
namespace {

// PTX without code: the driver needs an image, and finds kernels by name.
constexpr char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

// ---- the kernels: the first parameter is their cost

void convolve(const simgpu_launch&, simgpu_cost, Convolution convolution) {
  compute(convolution);
}
simgpu_cost convolution_cost(const simgpu_launch&, simgpu_cost cost, Convolution) {
  return cost;
}

void normalise(const simgpu_launch&, simgpu_cost, BatchNorm norm) {
  compute(norm);
}
simgpu_cost normalisation_cost(const simgpu_launch&, simgpu_cost cost, BatchNorm) {
  return cost;
}

simgpu_cost plain_cost(const simgpu_launch&, simgpu_cost cost) {
  return cost;
}

constexpr const char* convolution_names[] = {"cudnn_convolution_forward", "cudnn_convolution_backward_data",
                                             "cudnn_convolution_backward_filter"};
constexpr const char* batch_norm_names[] = {"cudnn_batch_norm_training", "cudnn_batch_norm_inference",
                                            "cudnn_batch_norm_backward"};

constexpr uint32_t registers = constants::cudnn_registers_per_thread;

simgpu_kernel without_effect(const char* name) {
  using Cost = Typed<decltype(&plain_cost)>;
  return {sizeof(simgpu_kernel),
          name,
          Cost::count,
          Cost::sizes,
          nullptr,
          &Cost::template call<plain_cost>,
          nullptr,
          registers,
          0};
}

const simgpu_kernel_list& kernel_list() {
  static const simgpu_kernel kernels[] = {
      kernel<convolve, convolution_cost>(convolution_names[0], registers),
      kernel<convolve, convolution_cost>(convolution_names[1], registers),
      kernel<convolve, convolution_cost>(convolution_names[2], registers),
      kernel<normalise, normalisation_cost>(batch_norm_names[0], registers),
      kernel<normalise, normalisation_cost>(batch_norm_names[1], registers),
      kernel<normalise, normalisation_cost>(batch_norm_names[2], registers),
      without_effect(convolution_without_effect),
      without_effect(batch_norm_without_effect),
      without_effect(operations_without_effect),
  };
  static const simgpu_kernel_list list = {sizeof list, std::size(kernels), kernels};
  return list;
}

// ---- their launch

Status driver_failed(const char* function, CUresult result) {
  return fail(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "%s: CUDA error %d", function, static_cast<int>(result));
}

// One library for all contexts.
Status library(CUlibrary* out) {
  static std::mutex mutex;
  static CUlibrary loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) {
    if (driver()->services->register_kernels(&kernel_list()) != 0)
      return fail(CUDNN_STATUS_INTERNAL_ERROR, "the simulated driver does not take the kernels of the simulated cuDNN");
    const CUresult result = driver()->cuLibraryLoadData(&loaded, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return driver_failed("cuLibraryLoadData", result);
  }
  *out = loaded;
  return CUDNN_STATUS_SUCCESS;
}

// The kernel's function in the current context. It is loaded when it is first asked for there, as lazily as real ones.
Status function_of(const char* name, CUfunction* function) {
  CUlibrary loaded = nullptr;
  if (const Status status = library(&loaded); status != CUDNN_STATUS_SUCCESS) return status;
  CUkernel kernel = nullptr;
  CUresult result = driver()->cuLibraryGetKernel(&kernel, loaded, name);
  if (result != CUDA_SUCCESS) return driver_failed("cuLibraryGetKernel", result);
  result = driver()->cuKernelGetFunction(function, kernel);
  return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : driver_failed("cuKernelGetFunction", result);
}

Status launch(const cudnnContext& handle, const char* name, int64_t elements, void** parameters) {
  CUfunction function = nullptr;
  if (const Status status = function_of(name, &function); status != CUDNN_STATUS_SUCCESS) return status;
  CUlaunchConfig config{};
  const int64_t per_block = constants::cudnn_elements_per_block;
  config.gridDimX = static_cast<unsigned>(
      std::clamp<int64_t>((elements + per_block - 1) / per_block, 1, constants::cudnn_most_blocks));
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = constants::cudnn_threads_per_block;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = handle.stream;
  const CUresult result = driver()->cuLaunchKernelEx(&config, function, parameters, nullptr);
  return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : driver_failed("cuLaunchKernelEx", result);
}

}  // namespace

Status launch(const cudnnContext& handle, const Convolution& convolution, simgpu_cost cost, int64_t elements) {
  Convolution copy = convolution;
  void* parameters[] = {&cost, &copy};
  return launch(handle, convolution_names[static_cast<int>(convolution.result)], elements, parameters);
}

Status launch(const cudnnContext& handle, const BatchNorm& norm, simgpu_cost cost, int64_t elements) {
  BatchNorm copy = norm;
  void* parameters[] = {&cost, &copy};
  return launch(handle, batch_norm_names[static_cast<int>(norm.pass)], elements, parameters);
}

Status launch_time_only(const cudnnContext& handle, const char* name, simgpu_cost cost, int64_t elements) {
  void* parameters[] = {&cost};
  return launch(handle, name, elements, parameters);
}

}  // namespace simgpu::cudnn
