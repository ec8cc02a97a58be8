// Kernel launches through the API. Called on the application's thread; the kernel is looked up, the rest is the
// driver's.
#include "launch.h"

#include <limits>

#include "binaries.h"
#include "context.h"

namespace simgpu {

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
              alignof(cudaLaunchAttribute) == alignof(CUlaunchAttribute));
static_assert(static_cast<int>(cudaLaunchAttributePriority) == static_cast<int>(CU_LAUNCH_ATTRIBUTE_PRIORITY) &&
              static_cast<int>(cudaLaunchAttributeClusterDimension) ==
                  static_cast<int>(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));

cudaError_t check_shape(dim3 grid, dim3 block) {
  constexpr unsigned max_threads = 1024;
  constexpr unsigned max_block_depth = 64;
  constexpr unsigned max_grid_x = 0x7fffffff;
  constexpr unsigned max_grid_yz = 65535;
  const bool block_fits = block.x >= 1 && block.y >= 1 && block.z >= 1 && block.x <= max_threads &&
                          block.y <= max_threads && block.z <= max_block_depth &&
                          block.x * block.y * block.z <= max_threads;
  const bool grid_fits = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= max_grid_x && grid.y <= max_grid_yz &&
                         grid.z <= max_grid_yz;
  return block_fits && grid_fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

cudaError_t launch(const Driver& table, DefaultStream mode, CUkernel kernel, dim3 grid, dim3 block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream, bool cooperative) {
  const cudaError_t shape = check_shape(grid, block);
  if (kernel == nullptr || shape != cudaSuccess) {
    return kernel == nullptr ? cudaErrorInvalidDeviceFunction : shape;
  }
  if (shared_bytes > std::numeric_limits<unsigned>::max()) {
    return cudaErrorInvalidValue;
  }
  // The driver's launches take a kernel handle where they ask for a function.
  auto* function = reinterpret_cast<CUfunction>(kernel);
  const auto bytes = static_cast<unsigned>(shared_bytes);
  const CUresult result = cooperative
                              ? table.cuLaunchCooperativeKernel[mode](function, grid.x, grid.y, grid.z, block.x,
                                                                      block.y, block.z, bytes, stream, arguments)
                              : table.cuLaunchKernel[mode](function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                           bytes, stream, arguments, nullptr);
  return to_runtime(result);
}

namespace {

cudaError_t launch_symbol(const Driver& table, DefaultStream mode, const void* function, dim3 grid, dim3 block,
                          void** arguments, size_t shared_bytes, cudaStream_t stream, bool cooperative) {
  CUkernel kernel = nullptr;
  const cudaError_t error = binaries().kernel(table, function, kernel);
  return error != cudaSuccess ? error
                              : launch(table, mode, kernel, grid, block, arguments, shared_bytes, stream, cooperative);
}

cudaError_t launch_configured(const Driver& table, DefaultStream mode, const cudaLaunchConfig_t* config,
                              const void* function, void** arguments) {
  if (config == nullptr || config->dynamicSmemBytes > std::numeric_limits<unsigned>::max()) {
    return cudaErrorInvalidValue;
  }
  CUkernel kernel = nullptr;
  cudaError_t error = binaries().kernel(table, function, kernel);
  if (error == cudaSuccess) {
    error = check_shape(config->gridDim, config->blockDim);
  }
  if (error != cudaSuccess) {
    return error;
  }
  const CUlaunchConfig converted = {
      .gridDimX = config->gridDim.x,
      .gridDimY = config->gridDim.y,
      .gridDimZ = config->gridDim.z,
      .blockDimX = config->blockDim.x,
      .blockDimY = config->blockDim.y,
      .blockDimZ = config->blockDim.z,
      .sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes),
      .hStream = config->stream,
      .attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs),
      .numAttrs = config->numAttrs,
  };
  return to_runtime(table.cuLaunchKernelEx[mode](&converted, reinterpret_cast<CUfunction>(kernel), arguments, nullptr));
}

}  // namespace
}  // namespace simgpu

SIMGPU_PAIR(cudaLaunchKernel, _ptsz,
            (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
            simgpu::launch_symbol(driver, mode, function, grid, block, arguments, shared_bytes, stream, false))
SIMGPU_PAIR(cudaLaunchCooperativeKernel, _ptsz,
            (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
            simgpu::launch_symbol(driver, mode, function, grid, block, arguments, shared_bytes, stream, true))
SIMGPU_PAIR(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t* config, const void* function, void** arguments),
            simgpu::launch_configured(driver, mode, config, function, arguments))
