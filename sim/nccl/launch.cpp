// Launching the kernel of one communicator: on the first stream of the group, with the events around it that order it
// behind the other streams and behind the communicator's earlier kernels. Host threads.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>

#include "driver.h"
#include "errors.h"
#include "group.h"

namespace simgpu::nccl {
namespace {

using constants::nccl_most_blocks;

unsigned environment(const char* name, unsigned fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr) return fallback;
  const long value = std::strtol(text, nullptr, 10);
  return value > 0 ? static_cast<unsigned>(value) : fallback;
}

unsigned transfer_blocks(const Plan& plan) {
  static const unsigned limit = environment("NCCL_MAX_P2P_NCHANNELS", nccl_most_blocks);
  std::set<int> peers;
  for (const Transfer& send : plan.sends) peers.insert(send.peer);
  for (const Transfer& receive : plan.receives) peers.insert(receive.peer);
  return std::min(constants::nccl_blocks_per_peer * static_cast<unsigned>(peers.size()), limit);
}

unsigned collective_blocks(const Plan& plan) {
  uint64_t most = 0;
  for (const Collective& collective : plan.collectives) {
    most = std::max(most, collective.count * size_of(collective.type));
  }
  const auto wanted =
      static_cast<unsigned>(std::min<uint64_t>(most / constants::nccl_bytes_per_collective_block, nccl_most_blocks));
  return std::clamp(std::bit_ceil(wanted), constants::nccl_least_collective_blocks,
                    constants::nccl_most_collective_blocks);
}

unsigned block_count(const Plan& plan, const Settings& settings) {
  unsigned blocks = 0;
  if (!plan.collectives.empty()) blocks = collective_blocks(plan);
  if (!plan.sends.empty() || !plan.receives.empty()) blocks = std::max(blocks, transfer_blocks(plan));
  const auto least = static_cast<unsigned>(settings.least_blocks);
  const auto most = std::min(static_cast<unsigned>(settings.most_blocks), nccl_most_blocks);
  return std::clamp(blocks, std::min(least, most), most);
}

// `later` goes on only when everything that is in `earlier` by now is done.
ncclResult_t order(CUstream later, CUstream earlier, CUevent scratch) {
  CUresult result = driver()->cuEventRecord(scratch, earlier);
  if (result != CUDA_SUCCESS) return driver_failed("cuEventRecord", result);
  result = driver()->cuStreamWaitEvent(later, scratch, 0);
  return result == CUDA_SUCCESS ? ncclSuccess : driver_failed("cuStreamWaitEvent", result);
}

ncclResult_t capturing(const std::vector<CUstream>& streams, bool* captured) {
  for (size_t i = 0; i < streams.size(); ++i) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver()->cuStreamIsCapturing(streams[i], &status);
    if (result != CUDA_SUCCESS) return driver_failed("cuStreamIsCapturing", result);
    if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return fail(ncclUnhandledCudaError, "the capture is invalid");
    const bool active = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (i > 0 && active != *captured) {
      return fail(ncclInvalidUsage, "some streams of the group are being captured and some are not");
    }
    *captured = active;
  }
  return ncclSuccess;
}

ncclResult_t launch_kernel(const CommunicatorWork& work, uint64_t number) {
  const Settings& settings = work.communicator->settings();
  const Plan& plan = work.launched->plan;
  CUfunction function = nullptr;
  if (const ncclResult_t result = function_of(plan.kernel, &function); result != ncclSuccess) return result;
  CUlaunchConfig config{};
  config.gridDimX = block_count(plan, settings);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = constants::nccl_threads_per_block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = constants::nccl_shared_per_block;
  config.hStream = work.streams.front();
  CUlaunchAttribute attributes[1]{};
  const auto cluster = static_cast<unsigned>(settings.cluster_size);
  if (cluster > 1 && config.gridDimX % cluster == 0) {
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim = {cluster, 1, 1};
    config.attrs = attributes;
    config.numAttrs = 1;
  }
  void* parameters[] = {&number};
  const CUresult result = driver()->cuLaunchKernelEx(&config, function, parameters, nullptr);
  return result == CUDA_SUCCESS ? ncclSuccess : driver_failed("cuLaunchKernelEx", result);
}

}  // namespace

ncclResult_t launch(CommunicatorWork& work) {
  ncclComm& communicator = *work.communicator;
  const ContextScope scope(communicator.context());
  Plan& plan = work.launched->plan;
  if (const ncclResult_t result = capturing(work.streams, &plan.captured); result != ncclSuccess) return result;
  plan.kernel = kernel_name(plan);
  const uint64_t number = add_plan(work.launched);
  communicator.keep(number, work.launched);

  const DeviceStream& device_stream = *communicator.device_stream();
  const CUstream launch_stream = work.streams.front();
  const auto others = [&](auto&& action) {
    for (size_t i = 1; i < work.streams.size(); ++i) {
      if (const ncclResult_t result = action(work.streams[i]); result != ncclSuccess) return result;
    }
    return ncclSuccess;
  };
  ncclResult_t result = others([&](CUstream stream) { return order(launch_stream, stream, device_stream.scratch); });
  // A capture cannot wait for a stream outside it: captured kernels keep their order by themselves (Endpoint::step).
  if (result == ncclSuccess && !plan.captured)
    result = order(launch_stream, device_stream.stream, device_stream.scratch);
  if (result == ncclSuccess) result = launch_kernel(work, number);
  if (result == ncclSuccess && !plan.captured)
    result = order(device_stream.stream, launch_stream, device_stream.scratch);
  if (result == ncclSuccess) {
    result = others([&](CUstream stream) { return order(stream, launch_stream, device_stream.scratch); });
  }
  return result;
}

}  // namespace simgpu::nccl
