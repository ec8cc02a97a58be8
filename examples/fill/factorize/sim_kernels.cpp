// Effect and cost of the factorizing job's kernels on the simulated GPU: the functions of descent.h, and their
// operations and bytes. See sim/include/simgpu/kernels.h.
#include <algorithm>
#include <cmath>

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

double edges_in(const Shape& s, const Range& strips) {
  return std::min(1.0 * strips.count * fill::edges_of_strip, 1.0 * s.edges);
}
// Numbers that a strip writes, of the vertices that begin in it and the one before.
double results_of(const Shape& s, double edges) {
  return (edges / s.edges * s.vertices + edges / fill::edges_of_strip) * s.factors;
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

void find_strips(const simgpu_launch&, fill::Rows rows, int* first_vertices) {
  for (int i = 0; i < fill::strips_of(rows.edges); ++i) factorize::find_strips(i, rows, first_vertices);
}
simgpu_cost find_strips_cost(const simgpu_launch&, fill::Rows rows, int*) {
  const double strips = fill::strips_of(rows.edges), steps = std::log2(1.0 * rows.vertices + 1);
  return {2.0 * strips * steps, strips * (4.0 + sector * steps)};
}

void add_sources(const simgpu_launch&, Shape s, Range strips, Graph graph, const int* first_vertices,
                 const float* errors, const float* targets, float* starts, float* heads) {
  for (int i = 0; i < items::add(s, strips); ++i)
    factorize::add_sources(i, s, strips, graph, first_vertices, errors, targets, starts, heads);
}
simgpu_cost add_sources_cost(const simgpu_launch&, Shape s, Range strips, Graph, const int*, const float*, const float*,
                             float*, float*) {
  const double edges = edges_in(s, strips);
  return {2.0 * edges * s.factors, edges * (8.0 + sector + row(s)) + 4.0 * results_of(s, edges)};
}

void add_targets(const simgpu_launch&, Shape s, Range strips, Graph graph, const int* first_vertices,
                 const float* errors, const float* sources, float* starts, float* heads) {
  for (int i = 0; i < items::add(s, strips); ++i)
    factorize::add_targets(i, s, strips, graph, first_vertices, errors, sources, starts, heads);
}
simgpu_cost add_targets_cost(const simgpu_launch&, Shape s, Range strips, Graph, const int*, const float*, const float*,
                             float*, float*) {
  const double edges = edges_in(s, strips);
  return {2.0 * edges * s.factors, edges * (8.0 + row(s)) + 4.0 * results_of(s, edges)};
}

void descend(const simgpu_launch&, Shape s, Rule rule, Range vertices, fill::Rows rows, const float* starts,
             const float* heads, const float* from, float* out) {
  for (int i = 0; i < items::descend(s, vertices); ++i)
    factorize::descend(i, s, rule, vertices, rows, starts, heads, from, out);
}
simgpu_cost descend_cost(const simgpu_launch&, Shape s, Rule, Range vertices, fill::Rows, const float*, const float*,
                         const float*, float*) {
  const double results = items::descend(s, vertices), heads = results * items::find_strips(s) / s.vertices;
  return {7.0 * results + heads, 12.0 * results + 4.0 * heads + 8.0 * vertices.count};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<load, load_cost>("factorize_load"),
    simgpu::kernel<store, store_cost>("factorize_store"),
    simgpu::kernel<errors, errors_cost>("factorize_errors"),
    simgpu::kernel<squares, squares_cost>("factorize_squares"),
    simgpu::kernel<loss, loss_cost>("factorize_loss"),
    simgpu::kernel<find_strips, find_strips_cost>("factorize_find_strips"),
    simgpu::kernel<add_sources, add_sources_cost>("factorize_add_sources"),
    simgpu::kernel<add_targets, add_targets_cost>("factorize_add_targets"),
    simgpu::kernel<descend, descend_cost>("factorize_descend"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 9, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
