// A cuGraphLaunch that fails from the n-th call on, to put in the place of the simulated driver's.
#pragma once

#include <cuda.h>

namespace weft::testing {

inline int launches_left = 0;
inline decltype(&::cuGraphLaunch) real_graph_launch = nullptr;
inline CUresult failing_graph_launch(CUgraphExec graph, CUstream stream) {
  return launches_left-- > 0 ? real_graph_launch(graph, stream) : CUDA_ERROR_ILLEGAL_ADDRESS;
}

}  // namespace weft::testing
