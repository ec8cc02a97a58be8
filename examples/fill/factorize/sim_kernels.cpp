// Effect and cost of the factorizing job's kernels on the simulated GPU: the functions of descent.h, and their
// operations and bytes. See sim/include/simgpu/kernels.h.
#include <algorithm>

#include "descent.h"
#include "simgpu/kernels.h"

namespace {

namespace items = factorize::items;
using factorize::Factors;
using factorize::Graph;
using factorize::Kept;
using factorize::Range;
using factorize::Rule;
using factorize::Shape;

constexpr double sector = 32;  // bytes that are moved for a number that stands alone
constexpr double of_host = 8;  // of a number of the host's memory, which is twice as far away
constexpr double mixing = 16;  // operations for the hash of an edge

// Bytes that are moved for the factors of one vertex.
double row(const Shape& s) {
  return std::max(sector, 4.0 * s.factors);
}

void load(const simgpu_launch&, Range range, Kept kept, float* state, std::int64_t* step) {
  for (int i = 0; i < items::load(range); ++i) factorize::load(i, range, kept, state, step);
}
simgpu_cost load_cost(const simgpu_launch&, Range range, Kept, float*, std::int64_t*) {
  return {1.0 * range.count, (4.0 + of_host) * range.count};
}

void store(const simgpu_launch&, Range range, Kept kept, const float* state) {
  for (int i = 0; i < items::store(range); ++i) factorize::store(i, range, kept, state);
}
simgpu_cost store_cost(const simgpu_launch&, Range range, Kept, const float*) {
  return {1.0 * range.count, (4.0 + of_host) * range.count};
}

void errors(const simgpu_launch&, Shape s, Rule rule, Range edges, const std::int64_t* first, int step, Graph graph,
            Factors factors, float* out) {
  for (int i = 0; i < items::errors(edges); ++i) factorize::errors(i, s, rule, edges, first, step, graph, factors, out);
}
simgpu_cost errors_cost(const simgpu_launch&, Shape s, Rule rule, Range edges, const std::int64_t*, int, Graph, Factors,
                        float*) {
  const double count = edges.count, chosen = count * rule.share;
  return {mixing * count + 2.0 * s.factors * chosen, count * (8.0 + sector) + chosen * (sector + 2 * row(s))};
}

void squares(const simgpu_launch&, Shape s, Rule rule, const std::int64_t* first, int step, const float* errors,
             float* sums, int* counts) {
  for (int i = 0; i < items::squares(s); ++i) factorize::squares(i, s, rule, first, step, errors, sums, counts);
}
simgpu_cost squares_cost(const simgpu_launch&, Shape s, Rule, const std::int64_t*, int, const float*, float*, int*) {
  return {(mixing + 3.0) * s.edges, 4.0 * s.edges + 8.0 * s.parts};
}

void loss(const simgpu_launch&, Shape s, const float* sums, const int* counts, float* out) {
  factorize::loss(s, sums, counts, out);
}
simgpu_cost loss_cost(const simgpu_launch&, Shape s, const float*, const int*, float*) {
  return {2.0 * s.parts, 8.0 * s.parts};
}

void descend_sources(const simgpu_launch&, Shape s, Rule rule, Range vertices, Graph graph, const float* errors,
                     Factors from, float* out) {
  for (int i = 0; i < items::descend(s, vertices); ++i)
    factorize::descend_sources(i, s, rule, vertices, graph, errors, from, out);
}
simgpu_cost descend_sources_cost(const simgpu_launch&, Shape s, Rule, Range vertices, Graph graph, const float*,
                                 Factors, float*) {
  const double edges = graph.out_offsets[vertices.first + vertices.count] - graph.out_offsets[vertices.first];
  return {2.0 * edges * s.factors + 6.0 * items::descend(s, vertices),
          edges * (8.0 + sector + row(s)) + 8.0 * items::descend(s, vertices)};
}

void descend_targets(const simgpu_launch&, Shape s, Rule rule, Range vertices, Graph graph, const float* errors,
                     Factors from, float* out) {
  for (int i = 0; i < items::descend(s, vertices); ++i)
    factorize::descend_targets(i, s, rule, vertices, graph, errors, from, out);
}
simgpu_cost descend_targets_cost(const simgpu_launch&, Shape s, Rule, Range vertices, Graph graph, const float*,
                                 Factors, float*) {
  const double edges = graph.offsets[vertices.first + vertices.count] - graph.offsets[vertices.first];
  return {2.0 * edges * s.factors + 6.0 * items::descend(s, vertices),
          edges * (8.0 + row(s)) + 8.0 * items::descend(s, vertices)};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<load, load_cost>("factorize_load"),
    simgpu::kernel<store, store_cost>("factorize_store"),
    simgpu::kernel<errors, errors_cost>("factorize_errors"),
    simgpu::kernel<squares, squares_cost>("factorize_squares"),
    simgpu::kernel<loss, loss_cost>("factorize_loss"),
    simgpu::kernel<descend_sources, descend_sources_cost>("factorize_descend_sources"),
    simgpu::kernel<descend_targets, descend_targets_cost>("factorize_descend_targets"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 7, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
