// The kernels of the factorizing job, launched with grids that leave multiprocessors free. GPU code in factorize.cu,
// the simulated GPU's in sim_kernels.cpp; both run the functions of descent.h.
#pragma once

#include "../launch.h"
#include "descent.h"

namespace factorize {

using fill::Launch;

void launch_load(const Launch& to, const Range& range, const Kept& kept, float* state, std::int64_t* step);
void launch_store(const Launch& to, const Range& range, const Kept& kept, const float* state);
// `step`: behind the one in memory.
void launch_errors(const Launch& to, const Shape& s, const Rule& rule, const Range& edges, const std::int64_t* first,
                   int step, const Graph& graph, const Factors& factors, float* out);
void launch_squares(const Launch& to, const Shape& s, const Rule& rule, const std::int64_t* first, int step,
                    const float* errors, float* sums, int* counts);
void launch_loss(const Launch& to, const Shape& s, const float* sums, const int* counts, float* out);
void launch_find_strips(const Launch& to, const fill::Rows& rows, int* first_vertices);
void launch_add_sources(const Launch& to, const Shape& s, const Range& strips, const Graph& graph,
                        const int* first_vertices, const float* errors, const float* targets, float* starts,
                        float* heads);
void launch_add_targets(const Launch& to, const Shape& s, const Range& strips, const Graph& graph,
                        const int* first_vertices, const float* errors, const float* sources, float* starts,
                        float* heads);
void launch_descend(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices, const fill::Rows& rows,
                    const float* starts, const float* heads, const float* from, float* out);

}  // namespace factorize
