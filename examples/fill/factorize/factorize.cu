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

__global__ void factorize_find_strips(fill::Rows rows, int* first_vertices) {
  for (int i = first_item(); i < fill::strips_of(rows.edges); i += stride())
    factorize::find_strips(i, rows, first_vertices);
}

__global__ void factorize_add_sources(factorize::Shape s, factorize::Range strips, factorize::Graph graph,
                                      const int* first_vertices, const float* errors, const float* targets,
                                      float* starts, float* heads) {
  for (int i = first_item(); i < factorize::items::add(s, strips); i += stride())
    factorize::add_sources(i, s, strips, graph, first_vertices, errors, targets, starts, heads);
}

__global__ void factorize_add_targets(factorize::Shape s, factorize::Range strips, factorize::Graph graph,
                                      const int* first_vertices, const float* errors, const float* sources,
                                      float* starts, float* heads) {
  for (int i = first_item(); i < factorize::items::add(s, strips); i += stride())
    factorize::add_targets(i, s, strips, graph, first_vertices, errors, sources, starts, heads);
}

__global__ void factorize_descend(factorize::Shape s, factorize::Rule rule, factorize::Range vertices, fill::Rows rows,
                                  const float* starts, const float* heads, const float* from, float* out) {
  for (int i = first_item(); i < factorize::items::descend(s, vertices); i += stride())
    factorize::descend(i, s, rule, vertices, rows, starts, heads, from, out);
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

void launch_find_strips(const Launch& to, const fill::Rows& rows, int* first_vertices) {
  const int count = fill::strips_of(rows.edges);
  factorize_find_strips<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(rows, first_vertices);
}

void launch_add_sources(const Launch& to, const Shape& s, const Range& strips, const Graph& graph,
                        const int* first_vertices, const float* errors, const float* targets, float* starts,
                        float* heads) {
  const int count = items::add(s, strips);
  factorize_add_sources<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(
      s, strips, graph, first_vertices, errors, targets, starts, heads);
}

void launch_add_targets(const Launch& to, const Shape& s, const Range& strips, const Graph& graph,
                        const int* first_vertices, const float* errors, const float* sources, float* starts,
                        float* heads) {
  const int count = items::add(s, strips);
  factorize_add_targets<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(
      s, strips, graph, first_vertices, errors, sources, starts, heads);
}

void launch_descend(const Launch& to, const Shape& s, const Rule& rule, const Range& vertices, const fill::Rows& rows,
                    const float* starts, const float* heads, const float* from, float* out) {
  const int count = items::descend(s, vertices);
  factorize_descend<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rule, vertices, rows, starts,
                                                                                     heads, from, out);
}

}  // namespace factorize
