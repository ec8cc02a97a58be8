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
void launch_descend_sources(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices,
                            const Graph& graph, const float* errors, const Factors& from, float* out);
void launch_descend_targets(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices,
                            const Graph& graph, const float* errors, const Factors& from, float* out);

}  // namespace factorize
