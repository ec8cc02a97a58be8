// The kernels of the PageRank job, launched with grids that leave multiprocessors free. GPU code in pagerank.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of ranking.h.
#pragma once

#include "../launch.h"
#include "ranking.h"

namespace pagerank {

using fill::Launch;

void launch_locate(const Launch& to, const Shape& s, const Graph& graph, const Seeds& seeds, int* places);
void launch_weigh(const Launch& to, const Shape& s, const Seeds& seeds, const int* places, int* known, float* weights);
void launch_spread(const Launch& to, const Shape& s, const int* known, const float* weights, float* restart);
void launch_gather(const Launch& to, const Shape& s, const int* places, const float* weights, float* restart);
void launch_begin(const Launch& to, const Shape& s, const Graph& graph, const float* restart, float* ranks,
                  float* flow);
void launch_dangling(const Launch& to, const Shape& s, const Graph& graph, const float* ranks, float* parts);
void launch_change(const Launch& to, const Shape& s, const float* ranks, const float* before, float* parts);
void launch_total(const Launch& to, const Shape& s, const float* parts, float* sums);
void launch_find_strips(const Launch& to, const Shape& s, const Graph& graph, int* first_vertices);
void launch_add(const Launch& to, const Shape& s, const Range& strips, const Graph& graph, const int* first_vertices,
                const float* flow, float* starts, float* heads);
void launch_pull(const Launch& to, const Shape& s, const Range& vertices, const Graph& graph, const float* restart,
                 const float* dangling_sums, const float* starts, const float* heads, float* ranks, float* flow_out);
void launch_write(const Launch& to, const Shape& s, const float* ranks, float* out);

}  // namespace pagerank
