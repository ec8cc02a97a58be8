// The kernel of the PageRank fill job. GPU code in pagerank.cu, the simulated GPU's in sim_kernels.cpp.
#pragma once

#include <cuda_runtime_api.h>

namespace fill {

// One step: rank_out[v] = (1 - damping) * teleport[v] + damping * sum over edges u->v of rank_in[u] / out_degree[u].
// The graph is stored by target: edges into v are sources[first[v]] .. sources[first[v + 1] - 1].
void launch_pagerank(const int* first, const int* sources, const float* inverse_degree, const float* teleport,
                     const float* rank_in, float* rank_out, int vertices, int blocks, cudaStream_t stream);

inline constexpr float damping = 0.85F;

}  // namespace fill
