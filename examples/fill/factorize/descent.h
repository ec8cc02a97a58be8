// The arithmetic of low-rank factors of a graph's values by gradient descent, one result at a time: compiled by nvcc
// for the GPU and by the host's compiler for the simulated one. The value of an edge is about p(source) . q(target).
//
// Called by the kernels in factorize.cu and by those in sim_kernels.cpp, for each number from 0 to below the one that
// the function of the same name in `items` gives; by factorize.cpp for the factors that it begins with. Each result has
// one writer and a fixed order of its sums: the same bits, however a unit is cut. Whatever the arrays hold, if they are
// not of a list of edges: nothing is read out of bounds.
#pragma once

#include <cmath>
#include <cstdint>

#include "../strips.h"

namespace factorize {

struct Shape {
  int vertices = 0, edges = 0;
  int factors = 0;  // of a vertex, on each side
  int parts = 0;    // that a sum over all edges is made of
};

struct Rule {
  std::uint32_t seed = 0;
  std::uint32_t chosen = 0;  // an edge is in a minibatch if its hash is not above this
  float share = 0;           // of the edges that are in one, about
  float rate = 0, decay = 0;
};

// As the feeder reads it from a file of edges (docs/records.md).
struct Graph {
  const int *offsets, *sources, *out_offsets, *out_targets, *out_numbers;
  const float* values;
};

// Of all vertices, one behind the other.
struct Factors {
  float *sources, *targets;
};

// Of one launch, where a large graph takes several short ones.
struct Range {
  int first = 0, count = 0;
};

// Where the state of the job is on the host, and in which of its two places.
struct Kept {
  float* places[2];
  const std::uint32_t* place;
  const std::int64_t* step;
};

namespace items {
FILL_BOTH int load(const Range& range) {
  return range.count;
}
FILL_BOTH int store(const Range& range) {
  return range.count;
}
FILL_BOTH int errors(const Range& edges) {
  return edges.count;
}
FILL_BOTH int squares(const Shape& s) {
  return s.parts;
}
FILL_BOTH int loss() {
  return 1;
}
FILL_BOTH int find_strips(const Shape& s) {
  return fill::strips_of(s.edges);
}
FILL_BOTH int add(const Shape& s, const Range& strips) {
  return strips.count * s.factors;
}
FILL_BOTH int descend(const Shape& s, const Range& vertices) {
  return vertices.count * s.factors;
}
}  // namespace items

FILL_BOTH std::uint32_t mixed(std::uint32_t bits) {
  bits = (bits ^ bits >> 16) * 0x9E3779B1U;
  bits = (bits ^ bits >> 15) * 0x85EBCA77U;
  return bits ^ bits >> 16;
}

// Of a step, so that an edge costs one more mixing.
FILL_BOTH std::uint32_t salt_of(const Rule& rule, std::int64_t step) {
  return mixed(mixed(rule.seed) + static_cast<std::uint32_t>(step));
}
FILL_BOTH bool is_chosen(const Rule& rule, std::uint32_t salt, int edge) {
  return mixed(salt + static_cast<std::uint32_t>(edge)) <= rule.chosen;
}

// The factors that the job begins with: any small numbers.
FILL_BOTH float first_factor(const Rule& rule, const Shape& s, int item) {
  const std::uint32_t bits = mixed(mixed(~rule.seed) + static_cast<std::uint32_t>(item)) >> 8;
  return (static_cast<float>(bits) / 16777216.0F - 0.5F) * 2.0F / sqrtf(static_cast<float>(s.factors));
}

// The number of the first step goes along.
FILL_BOTH void load(int item, const Range& range, const Kept& kept, float* state, std::int64_t* step) {
  if (item == 0) *step = *kept.step;
  state[range.first + item] = kept.places[*kept.place & 1U][range.first + item];
}
// Into the other place: the one that was loaded stays whole until the host takes this one over.
FILL_BOTH void store(int item, const Range& range, const Kept& kept, const float* state) {
  kept.places[1U - (*kept.place & 1U)][range.first + item] = state[range.first + item];
}

FILL_BOTH bool is_below(int number, int bound) {
  return number >= 0 && number < bound;
}

// By how much the factors miss the value of an edge; 0: it is not in the minibatch. By source, written by target.
FILL_BOTH void errors(int item, const Shape& s, const Rule& rule, const Range& edges, const std::int64_t* first,
                      int step, const Graph& graph, const Factors& factors, float* out) {
  const int edge = graph.out_numbers[edges.first + item], target = graph.out_targets[edges.first + item];
  if (!is_below(edge, s.edges)) return;
  out[edge] = 0;
  const int source = graph.sources[edge];
  if (!is_chosen(rule, salt_of(rule, *first + step), edge) || !is_below(source, s.vertices) ||
      !is_below(target, s.vertices))
    return;
  const float* const p = factors.sources + source * s.factors;
  const float* const q = factors.targets + target * s.factors;
  float product = 0;
  for (int k = 0; k < s.factors; ++k) product += p[k] * q[k];
  out[edge] = graph.values[edge] - product;
}

FILL_BOTH int first_of_part(const Shape& s, int part) {
  return static_cast<int>(static_cast<std::int64_t>(s.edges) * part / s.parts);
}

// Of the edges of one part: how many are in the minibatch, and the squares of their errors.
FILL_BOTH void squares(int part, const Shape& s, const Rule& rule, const std::int64_t* first, int step,
                       const float* errors, float* sums, int* counts) {
  const std::uint32_t salt = salt_of(rule, *first + step);
  float sum = 0;
  int count = 0;
  for (int edge = first_of_part(s, part); edge < first_of_part(s, part + 1); ++edge) {
    sum += errors[edge] * errors[edge];
    count += is_chosen(rule, salt, edge) ? 1 : 0;
  }
  sums[part] = sum;
  counts[part] = count;
}

// Their mean over all parts; an empty minibatch has none, and no error.
FILL_BOTH void loss(const Shape& s, const float* sums, const int* counts, float* out) {
  float sum = 0;
  int count = 0;
  for (int part = 0; part < s.parts; ++part) {
    sum += sums[part];
    count += counts[part];
  }
  *out = count == 0 ? 0.0F : sum / static_cast<float>(count);
}

// Both sides of the graph.
FILL_BOTH fill::Rows sources_of(const Shape& s, const Graph& graph) {
  return {graph.out_offsets, s.vertices, s.edges};
}
FILL_BOTH fill::Rows targets_of(const Shape& s, const Graph& graph) {
  return {graph.offsets, s.vertices, s.edges};
}
FILL_BOTH void find_strips(int strip, const fill::Rows& rows, int* first_vertices) {
  first_vertices[strip] = fill::vertex_of(rows, strip * fill::edges_of_strip, 0);
}

// The gradients of the factors of sources, as far as the edges of a strip make them: error times the target's factor.
FILL_BOTH void add_sources(int item, const Shape& s, const Range& strips, const Graph& graph, const int* first_vertices,
                           const float* errors, const float* targets, float* starts, float* heads) {
  const int strip = strips.first + item / s.factors, k = item % s.factors;
  const auto of_edge = [&](int place) {
    const int edge = graph.out_numbers[place], target = graph.out_targets[place];
    if (!is_below(edge, s.edges) || !is_below(target, s.vertices)) return 0.0F;
    return errors[edge] * targets[target * s.factors + k];
  };
  fill::add_strip(sources_of(s, graph), strip, first_vertices[strip], s.factors, k, of_edge, starts, heads);
}

// Likewise those of the factors of targets.
FILL_BOTH void add_targets(int item, const Shape& s, const Range& strips, const Graph& graph, const int* first_vertices,
                           const float* errors, const float* sources, float* starts, float* heads) {
  const int strip = strips.first + item / s.factors, k = item % s.factors;
  const auto of_edge = [&](int edge) {
    const int source = graph.sources[edge];
    return is_below(source, s.vertices) ? errors[edge] * sources[source * s.factors + k] : 0.0F;
  };
  fill::add_strip(targets_of(s, graph), strip, first_vertices[strip], s.factors, k, of_edge, starts, heads);
}

// The way that a vertex's factor takes: the mean over its edges, as many as a minibatch has of them, less the decay.
FILL_BOTH void descend(int item, const Shape& s, const Rule& rule, const Range& vertices, const fill::Rows& rows,
                       const float* starts, const float* heads, const float* from, float* out) {
  const int v = vertices.first + item / s.factors, k = item % s.factors, place = v * s.factors + k;
  const float gradient = fill::sum_of_vertex(rows, v, s.factors, k, starts, heads);
  const std::int64_t degree = static_cast<std::int64_t>(rows.offsets[v + 1]) - rows.offsets[v];
  const float expected = rule.share * static_cast<float>(degree);
  out[place] = from[place] + rule.rate * (gradient / (expected > 1 ? expected : 1.0F) - rule.decay * from[place]);
}

}  // namespace factorize
