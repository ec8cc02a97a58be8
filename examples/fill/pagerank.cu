// GPU code of the PageRank fill job. See pagerank.h.
#include "pagerank.h"

extern "C" __global__ void fill_pagerank(const int* first, const int* sources, const float* inverse_degree,
                                         const float* teleport, const float* rank_in, float* rank_out, int vertices) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int v = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); v < vertices; v += stride) {
    float sum = 0;
    for (int edge = first[v]; edge < first[v + 1]; ++edge)
      sum += rank_in[sources[edge]] * inverse_degree[sources[edge]];
    rank_out[v] = (1.0F - fill::damping) * teleport[v] + fill::damping * sum;
  }
}

namespace fill {

void launch_pagerank(const int* first, const int* sources, const float* inverse_degree, const float* teleport,
                     const float* rank_in, float* rank_out, int vertices, int blocks, cudaStream_t stream) {
  fill_pagerank<<<blocks, 32, 0, stream>>>(first, sources, inverse_degree, teleport, rank_in, rank_out, vertices);
}

}  // namespace fill
