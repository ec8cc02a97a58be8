// The hooks of launches: kernels and graphs. Each counts the launch on its stream and goes on to the real function. Any
// thread of the main job, more often than any other call: no lock, no locked instruction, no event, no call of the
// driver but at the first sight of a stream. Launches of NCCL and of Weft do not count.
#include "shim/main_job/launches.h"
#include "shim/caller.h"
#include "shim/routing/real.h"

using namespace weft;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void** parameters, void** extra) {
  if (observing()) count_launch(stream, false);
  return real<Symbol::cuLaunchKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                        parameters, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                             CUstream stream, void** parameters, void** extra) {
  if (observing()) count_launch(stream, true);
  return real<Symbol::cuLaunchKernel_ptsz>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                             stream, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (config != nullptr && observing()) count_launch(config->hStream, false);
  return real<Symbol::cuLaunchKernelEx>()(config, function, parameters, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (config != nullptr && observing()) count_launch(config->hStream, true);
  return real<Symbol::cuLaunchKernelEx_ptsz>()(config, function, parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared, CUstream stream, void** parameters) {
  if (observing()) count_launch(stream, false);
  return real<Symbol::cuLaunchCooperativeKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                                   stream, parameters);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared, CUstream stream, void** parameters) {
  if (observing()) count_launch(stream, true);
  return real<Symbol::cuLaunchCooperativeKernel_ptsz>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                        shared, stream, parameters);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  if (observing()) count_launch(stream, false);
  return real<Symbol::cuGraphLaunch>()(graph, stream);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  if (observing()) count_launch(stream, true);
  return real<Symbol::cuGraphLaunch_ptsz>()(graph, stream);
}

}  // extern "C"
