// GPU code of the factorizing job. See kernels.h. Threads stride over the results.
#include "kernels.h"

using fill::first_item;
using fill::stride;

extern "C" {

__global__ void factorize_load(factorize::Range range, factorize::Kept kept, float* state, std::int64_t* step) {
  for (int i = first_item(); i < factorize::items::load(range); i += stride())
    factorize::load(i, range, kept, state, step);
}

__global__ void factorize_store(factorize::Range range, factorize::Kept kept, const float* state) {
  for (int i = first_item(); i < factorize::items::store(range); i += stride()) factorize::store(i, range, kept, state);
}

__global__ void factorize_errors(factorize::Shape s, factorize::Rule rule, factorize::Range edges,
                                 const std::int64_t* first, int step, factorize::Graph graph,
                                 factorize::Factors factors, float* out) {
  for (int i = first_item(); i < factorize::items::errors(edges); i += stride())
    factorize::errors(i, s, rule, edges, first, step, graph, factors, out);
}

__global__ void factorize_squares(factorize::Shape s, factorize::Rule rule, const std::int64_t* first, int step,
                                  const float* errors, float* sums, int* counts) {
  for (int i = first_item(); i < factorize::items::squares(s); i += stride())
    factorize::squares(i, s, rule, first, step, errors, sums, counts);
}

__global__ void factorize_loss(factorize::Shape s, const float* sums, const int* counts, float* out) {
  if (first_item() == 0) factorize::loss(s, sums, counts, out);
}

__global__ void factorize_descend_sources(factorize::Shape s, factorize::Rule rule, factorize::Range vertices,
                                          factorize::Graph graph, const float* errors, factorize::Factors from,
                                          float* out) {
  for (int i = first_item(); i < factorize::items::descend(s, vertices); i += stride())
    factorize::descend_sources(i, s, rule, vertices, graph, errors, from, out);
}

__global__ void factorize_descend_targets(factorize::Shape s, factorize::Rule rule, factorize::Range vertices,
                                          factorize::Graph graph, const float* errors, factorize::Factors from,
                                          float* out) {
  for (int i = first_item(); i < factorize::items::descend(s, vertices); i += stride())
    factorize::descend_targets(i, s, rule, vertices, graph, errors, from, out);
}

}  // extern "C"

namespace factorize {

void launch_load(const Launch& to, const Range& range, const Kept& kept, float* state, std::int64_t* step) {
  const int count = items::load(range);
  factorize_load<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(range, kept, state, step);
}

void launch_store(const Launch& to, const Range& range, const Kept& kept, const float* state) {
  const int count = items::store(range);
  factorize_store<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(range, kept, state);
}

void launch_errors(const Launch& to, const Shape& s, const Rule& rule, const Range& edges, const std::int64_t* first,
                   int step, const Graph& graph, const Factors& factors, float* out) {
  const int count = items::errors(edges);
  factorize_errors<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rule, edges, first, step, graph,
                                                                                    factors, out);
}

void launch_squares(const Launch& to, const Shape& s, const Rule& rule, const std::int64_t* first, int step,
                    const float* errors, float* sums, int* counts) {
  const int count = items::squares(s);
  factorize_squares<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rule, first, step, errors, sums,
                                                                                     counts);
}

void launch_loss(const Launch& to, const Shape& s, const float* sums, const int* counts, float* out) {
  const int count = items::loss();
  factorize_loss<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, sums, counts, out);
}

void launch_descend_sources(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices,
                            const Graph& graph, const float* errors, const Factors& from, float* out) {
  const int count = items::descend(s, vertices);
  factorize_descend_sources<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rule, vertices, graph,
                                                                                             errors, from, out);
}

void launch_descend_targets(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices,
                            const Graph& graph, const float* errors, const Factors& from, float* out) {
  const int count = items::descend(s, vertices);
  factorize_descend_targets<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rule, vertices, graph,
                                                                                             errors, from, out);
}

}  // namespace factorize
