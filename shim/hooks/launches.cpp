// The hooks of launches: kernels, graphs, sets and copies within the device. Each counts the launch on its stream and
// goes on to the real function. Any thread of the main job, more often than any other call: no lock, no locked
// instruction, no event, no call of the driver but at the first sight of a stream, behind a copy, group or wait
// (main_job/copies.h), and with several devices on a default stream. Launches of NCCL and of Weft do not count. A graph
// that holds NCCL operations, or waits for an event or records one, is looked at (main_job/graph_launches.h), and so is
// a kernel of an NCCL that is not hooked (main_job/unseen_nccl.h). Events that a launch records are seen.
#include "shim/main_job/launches.h"
#include "shim/caller.h"
#include "shim/main_job/graph_launches.h"
#include "shim/main_job/launch_events.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/unseen_nccl.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void** parameters, void** extra) {
  if (is_unseen_nccls(function) && learning()) {
    const auto call = real<Symbol::cuLaunchKernel>();
    return launch_unseen_nccls(stream, false, [=] {
      return call(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra);
    });
  }
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuLaunchKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                        parameters, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                             CUstream stream, void** parameters, void** extra) {
  if (is_unseen_nccls(function) && learning()) {
    const auto call = real<Symbol::cuLaunchKernel_ptsz>();
    return launch_unseen_nccls(stream, true, [=] {
      return call(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra);
    });
  }
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuLaunchKernel_ptsz>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                             stream, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  const bool is_mine = config != nullptr && learning();
  if (is_mine && (is_unseen_nccls(function) || records_event(*config))) {
    const auto call = real<Symbol::cuLaunchKernelEx>();
    return launch_and_record(*config, function, false, [=] { return call(config, function, parameters, extra); });
  }
  if (is_mine) count_launch(config->hStream, false);
  return real<Symbol::cuLaunchKernelEx>()(config, function, parameters, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  const bool is_mine = config != nullptr && learning();
  if (is_mine && (is_unseen_nccls(function) || records_event(*config))) {
    const auto call = real<Symbol::cuLaunchKernelEx_ptsz>();
    return launch_and_record(*config, function, true, [=] { return call(config, function, parameters, extra); });
  }
  if (is_mine) count_launch(config->hStream, true);
  return real<Symbol::cuLaunchKernelEx_ptsz>()(config, function, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared, CUstream stream, void** parameters) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuLaunchCooperativeKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                                   stream, parameters);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared, CUstream stream, void** parameters) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuLaunchCooperativeKernel_ptsz>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                        shared, stream, parameters);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  const auto call = real<Symbol::cuGraphLaunch>();
  const bool may_be_noted = any_noted_graph() && observing();
  const GraphLaunch launch = may_be_noted ? graph_launch_begins(graph, stream, false) : GraphLaunch{};
  if (launch.stream == nullptr && learning()) count_launch(stream, false);
  const CUresult result = call(graph, stream);
  if (may_be_noted) graph_launched(graph, stream, false, launch, result == CUDA_SUCCESS);
  return result;
}

CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  const auto call = real<Symbol::cuGraphLaunch_ptsz>();
  const bool may_be_noted = any_noted_graph() && observing();
  const GraphLaunch launch = may_be_noted ? graph_launch_begins(graph, stream, true) : GraphLaunch{};
  if (launch.stream == nullptr && learning()) count_launch(stream, true);
  const CUresult result = call(graph, stream);
  if (may_be_noted) graph_launched(graph, stream, true, launch, result == CUDA_SUCCESS);
  return result;
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned int devices, unsigned int flags) {
  for (unsigned int i = 0; list != nullptr && i < devices && learning(); ++i) count_launch(list[i].hStream, false);
  return real<Symbol::cuLaunchCooperativeKernelMultiDevice>()(list, devices, flags);
}

CUresult cuLaunch(CUfunction function) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuLaunch>()(function);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  if (learning()) count_launch(nullptr, false);
  return real<Symbol::cuLaunchGrid>()(function, width, height);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuLaunchGridAsync>()(function, width, height, stream);
}

// Sets, and copies within the device, take multiprocessors as kernels do. Other copies: hooks/copies.cpp.
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD8Async>()(memory, value, count, stream);
}

CUresult cuMemsetD8Async_ptsz(CUdeviceptr memory, unsigned char value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD8Async_ptsz>()(memory, value, count, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD16Async>()(memory, value, count, stream);
}

CUresult cuMemsetD16Async_ptsz(CUdeviceptr memory, unsigned short value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD16Async_ptsz>()(memory, value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr memory, unsigned int value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD32Async>()(memory, value, count, stream);
}

CUresult cuMemsetD32Async_ptsz(CUdeviceptr memory, unsigned int value, size_t count, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD32Async_ptsz>()(memory, value, count, stream);
}

CUresult cuMemsetD2D8Async(CUdeviceptr memory, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD2D8Async>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr memory, size_t pitch, unsigned char value, size_t width, size_t height,
                                CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD2D8Async_ptsz>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemsetD2D16Async(CUdeviceptr memory, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD2D16Async>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr memory, size_t pitch, unsigned short value, size_t width, size_t height,
                                 CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD2D16Async_ptsz>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr memory, size_t pitch, unsigned int value, size_t width, size_t height,
                            CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemsetD2D32Async>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr memory, size_t pitch, unsigned int value, size_t width, size_t height,
                                 CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemsetD2D32Async_ptsz>()(memory, pitch, value, width, height, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (learning()) count_launch(stream, false);
  return real<Symbol::cuMemcpyDtoDAsync_v2>()(to, from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (learning()) count_launch(stream, true);
  return real<Symbol::cuMemcpyDtoDAsync_v2_ptsz>()(to, from, bytes, stream);
}

}  // extern "C"
