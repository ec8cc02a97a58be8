// Kernel launches. Any thread; see launch.h.
#include <algorithm>

#include "api/api.h"
#include "api/launch.h"
#include "engine/capture_hooks.h"
#include "engine/multiprocessors.h"

namespace simgpu {
namespace {

constexpr unsigned most_threads = 1024;
constexpr unsigned most_block_depth = 64;
constexpr unsigned most_grid_x = 2147483647;
constexpr unsigned most_grid = 65535;
constexpr unsigned most_cluster_blocks = 16;

CUresult check_shape(const LaunchRequest& request, const LaunchableFunction& function) {
  const auto [x, y, z] = request.block;
  const bool empty =
      std::any_of(request.grid, request.grid + 3, [](unsigned n) { return n == 0; }) || x == 0 || y == 0 || z == 0;
  if (empty || request.grid[0] > most_grid_x || request.grid[1] > most_grid || request.grid[2] > most_grid) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (x > most_threads || y > most_threads || z > most_block_depth) return CUDA_ERROR_INVALID_VALUE;
  if (uint64_t{x} * y * z > std::min(most_threads, function.max_threads_per_block)) return CUDA_ERROR_INVALID_VALUE;
  if (request.shared_bytes > function.max_dynamic_shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult apply_attributes(const LaunchRequest& request, KernelLaunch& launch) {
  launch.cooperative = request.cooperative;
  for (unsigned index = 0; index < request.attribute_count; ++index) {
    const CUlaunchAttribute& attribute = request.attributes[index];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        launch.has_priority = true;
        launch.priority = std::clamp(attribute.value.priority, greatest_priority, 0);
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch.cooperative = launch.cooperative || attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const auto& cluster = attribute.value.clusterDim;
        if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        const uint64_t blocks = uint64_t{cluster.x} * cluster.y * cluster.z;
        if (blocks > most_cluster_blocks || request.grid[0] % cluster.x != 0 || request.grid[1] % cluster.y != 0 ||
            request.grid[2] % cluster.z != 0) {
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        launch.cluster_blocks = static_cast<uint32_t>(blocks);
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        launch.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
        break;
      // A launch that says when its blocks have begun is not modelled, and must not be taken for one that is.
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
      default:
        break;
    }
  }
  return CUDA_SUCCESS;
}

CUresult apply_parameters(const LaunchRequest& request, KernelLaunch& launch) {
  if (request.parameters != nullptr && request.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (request.extra == nullptr) {
    const simgpu_kernel* host = launch.image->host.load(std::memory_order_acquire);
    if (request.parameters == nullptr && host != nullptr && host->parameter_count > 0) return CUDA_ERROR_INVALID_VALUE;
    launch.set_parameters(request.parameters);
    return CUDA_SUCCESS;
  }
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (void** entry = request.extra; *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (entry[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = entry[1];
    } else if (entry[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(entry[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return launch.set_parameter_buffer(buffer, buffer == nullptr ? 0 : size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// A kernel that could never be placed is refused; so is one that needs all its blocks at once and has too many.
CUresult check_room(const KernelLaunch& launch, const SmShare& share) {
  const BlockNeeds needs = BlockNeeds::of(launch.block_threads(), launch.image->registers_per_thread(),
                                          launch.image->static_shared_bytes() + launch.shape.shared_bytes);
  const unsigned all = engine().settings().multiprocessors;
  const uint64_t room = uint64_t{resident_blocks(needs)} * std::min(share.count, all - share.first);
  if (room == 0) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (launch.cluster_blocks > room) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const bool all_at_once = launch.cooperative || launch.image->spins();
  if (all_at_once && launch.block_count() > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return CUDA_SUCCESS;
}

CUresult launch_kernel(CUstream handle, DefaultStream meaning, const LaunchRequest& request) {
  Stream* stream = nullptr;
  if (const CUresult result = find_stream(handle, meaning, stream); result != CUDA_SUCCESS) return result;
  KernelCommand command;
  if (const CUresult result = build_launch(request, *stream->context, command.launch); result != CUDA_SUCCESS) {
    return result;
  }
  if (const CUresult result = engine().submit(*stream, command); result != CUDA_SUCCESS) return result;
  if (!engine().settings().launch_blocking) return CUDA_SUCCESS;
  {
    const std::scoped_lock guard(engine().lock());
    if (stream->capture != nullptr) return CUDA_SUCCESS;
  }
  return engine().synchronize(*stream);
}

CUresult launch_config(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra,
                       DefaultStream meaning) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LaunchRequest request{function,
                        {config->gridDimX, config->gridDimY, config->gridDimZ},
                        {config->blockDimX, config->blockDimY, config->blockDimZ},
                        config->sharedMemBytes,
                        parameters,
                        extra,
                        config->attrs,
                        config->numAttrs,
                        false};
  return launch_kernel(config->hStream, meaning, request);
}

}  // namespace

CUresult build_launch(const LaunchRequest& request, Context& context, std::shared_ptr<const KernelLaunch>& out) {
  LaunchableFunction function;
  if (const CUresult result = launchable_function(request.function, *context.device, function); result != CUDA_SUCCESS) {
    return result;
  }
  if (const CUresult result = check_shape(request, function); result != CUDA_SUCCESS) return result;
  auto launch = std::make_shared<KernelLaunch>();
  launch->image = function.image;
  launch->function = request.function;
  std::copy_n(request.grid, 3, launch->shape.grid);
  std::copy_n(request.block, 3, launch->shape.block);
  launch->shape.shared_bytes = request.shared_bytes;
  if (const CUresult result = apply_attributes(request, *launch); result != CUDA_SUCCESS) return result;
  if (const CUresult result = apply_parameters(request, *launch); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check_room(*launch, context.share); result != CUDA_SUCCESS) return result;
  out = std::move(launch);
  return CUDA_SUCCESS;
}

}  // namespace simgpu

using namespace simgpu;

SIMGPU_PAIR(cuLaunchKernel, _ptsz,
            (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
             unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
             void** kernelParams, void** extra),
            launch_kernel(hStream, meaning,
                          {f,
                           {gridDimX, gridDimY, gridDimZ},
                           {blockDimX, blockDimY, blockDimZ},
                           sharedMemBytes,
                           kernelParams,
                           extra,
                           nullptr,
                           0,
                           false}))

SIMGPU_PAIR(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra),
            launch_config(config, f, kernelParams, extra, meaning))

SIMGPU_PAIR(cuLaunchCooperativeKernel, _ptsz,
            (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
             unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
             void** kernelParams),
            launch_kernel(hStream, meaning,
                          {f,
                           {gridDimX, gridDimY, gridDimZ},
                           {blockDimX, blockDimY, blockDimZ},
                           sharedMemBytes,
                           kernelParams,
                           nullptr,
                           nullptr,
                           0,
                           true}))

SIMGPU_API cuProfilerStart() {
  return ready();
}
SIMGPU_API cuProfilerStop() {
  return ready();
}
