// The arithmetic of personalised PageRank by power iteration, one result at a time: compiled by nvcc for the GPU and by
// the host's compiler for the simulated one.
//
// Called by the kernels in pagerank.cu and by those in sim_kernels.cpp, for each number from 0 to below the one that
// the function of the same name in `items` gives. Sums have a fixed order, which does not depend on the batch: a result
// has the same bits wherever and with whatever records it is computed. In arrays of numbers for each vertex and record
// those of one vertex are next to each other, so that an edge is read once for all records.
#pragma once

#include <cmath>
#include <cstdint>

#include "../strips.h"

namespace pagerank {

struct Shape {
  int vertices = 0, edges = 0;
  int batch = 0;  // records of a unit
  int seeds = 0;  // of a record, at most
  int parts = 0;  // that a sum over all vertices is made of
  float damping = 0;
};

// As the feeder reads it from a file of edges (docs/records.md).
struct Graph {
  const std::int64_t* ids;
  const int *offsets, *sources, *degrees;
};

// Of a unit.
struct Seeds {
  const std::int64_t* ids;
  const std::uint32_t* lengths;
};

// Of one launch, where a large graph takes several short ones.
struct Range {
  int first = 0, count = 0;
};

namespace items {
FILL_BOTH int locate(const Shape& s) {
  return s.batch * s.seeds;
}
FILL_BOTH int weigh(const Shape& s) {
  return s.batch;
}
FILL_BOTH int spread(const Shape& s) {
  return s.vertices * s.batch;
}
FILL_BOTH int gather(const Shape& s) {
  return s.batch;
}
FILL_BOTH int begin(const Shape& s) {
  return s.vertices * s.batch;
}
FILL_BOTH int dangling(const Shape& s) {
  return s.parts * s.batch;
}
FILL_BOTH int change(const Shape& s) {
  return s.parts * s.batch;
}
FILL_BOTH int total(const Shape& s) {
  return s.batch;
}
FILL_BOTH int find_strips(const Shape& s) {
  return fill::strips_of(s.edges);
}
FILL_BOTH int add(const Shape& s, const Range& strips) {
  return strips.count * s.batch;
}
FILL_BOTH int pull(const Shape& s, const Range& vertices) {
  return vertices.count * s.batch;
}
FILL_BOTH int write(const Shape& s) {
  return s.batch * s.vertices;
}
}  // namespace items

// The place of a seed among the vertices; -1: it is none, or behind the end of its record.
FILL_BOTH void locate(int item, const Shape& s, const Graph& graph, const Seeds& seeds, int* places) {
  places[item] = -1;
  if (static_cast<std::uint32_t>(item % s.seeds) >= seeds.lengths[item / s.seeds]) return;
  const std::int64_t id = seeds.ids[item];
  int low = 0, high = s.vertices;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (graph.ids[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < s.vertices && graph.ids[low] == id) places[item] = low;
}

// How many seeds of a record are vertices, and the weight of each; without seeds, of each vertex. A record whose seeds
// are all unknown has no ranks: its weights are no number, and so is all that follows.
FILL_BOTH void weigh(int record, const Shape& s, const Seeds& seeds, const int* places, int* known, float* weights) {
  int count = 0;
  for (int k = 0; k < s.seeds; ++k) count += places[record * s.seeds + k] >= 0 ? 1 : 0;
  known[record] = count;
  const int shared_by = seeds.lengths[record] == 0 ? s.vertices : count;
  weights[record] = shared_by == 0 ? nanf("") : 1.0F / static_cast<float>(shared_by);
}

// The share of each vertex in all that starts anew in a step: first without the seeds, which are then added.
FILL_BOTH void spread(int item, const Shape& s, const int* known, const float* weights, float* restart) {
  const int record = item % s.batch;
  restart[item] = known[record] == 0 ? weights[record] : 0.0F;
}
// One that is no vertex adds nothing, at some vertex: so records of unknown seeds, as Weft measures the job with, take
// as long as others.
FILL_BOTH void gather(int record, const Shape& s, const int* places, const float* weights, float* restart) {
  for (int k = 0; k < s.seeds; ++k) {
    const int seed = record * s.seeds + k, place = places[seed];
    const int some =
        static_cast<int>(static_cast<std::uint32_t>(seed) * 2654435761U % static_cast<std::uint32_t>(s.vertices));
    restart[(place >= 0 ? place : some) * s.batch + record] += place >= 0 ? weights[record] : 0.0F;
  }
}

// `flow`: what goes out of a vertex along each of its edges.
FILL_BOTH void begin(int item, const Shape& s, const Graph& graph, const float* restart, float* ranks, float* flow) {
  const int degree = graph.degrees[item / s.batch];
  ranks[item] = restart[item];
  flow[item] = degree == 0 ? 0.0F : restart[item] / static_cast<float>(degree);
}

FILL_BOTH int first_of_part(const Shape& s, int part) {
  return static_cast<int>(static_cast<std::int64_t>(s.vertices) * part / s.parts);
}

// The rank of vertices without edges out of them, part by part of all vertices.
FILL_BOTH void dangling(int item, const Shape& s, const Graph& graph, const float* ranks, float* parts) {
  const int part = item / s.batch, record = item % s.batch;
  float sum = 0;
  for (int v = first_of_part(s, part); v < first_of_part(s, part + 1); ++v)
    if (graph.degrees[v] == 0) sum += ranks[v * s.batch + record];
  parts[item] = sum;
}

// How far the ranks of two steps are apart, likewise.
FILL_BOTH void change(int item, const Shape& s, const float* ranks, const float* before, float* parts) {
  const int part = item / s.batch, record = item % s.batch;
  float sum = 0;
  for (int v = first_of_part(s, part); v < first_of_part(s, part + 1); ++v)
    sum += fabsf(ranks[v * s.batch + record] - before[v * s.batch + record]);
  parts[item] = sum;
}

FILL_BOTH void total(int record, const Shape& s, const float* parts, float* sums) {
  float sum = 0;
  for (int part = 0; part < s.parts; ++part) sum += parts[part * s.batch + record];
  sums[record] = sum;
}

FILL_BOTH fill::Rows rows_of(const Shape& s, const Graph& graph) {
  return {graph.offsets, s.vertices, s.edges};
}
FILL_BOTH void find_strips(int strip, const Shape& s, const Graph& graph, int* first_vertices) {
  first_vertices[strip] = fill::vertex_of(rows_of(s, graph), strip * fill::edges_of_strip, 0);
}

// One step, of which this is the first half: all that comes in along the edges of a strip. A source that is no vertex,
// if the arrays are not of a list of edges, is passed over.
FILL_BOTH void add(int item, const Shape& s, const Range& strips, const Graph& graph, const int* first_vertices,
                   const float* flow, float* starts, float* heads) {
  const int strip = strips.first + item / s.batch, record = item % s.batch;
  const auto of_edge = [&](int edge) {
    const int source = graph.sources[edge];
    return source >= 0 && source < s.vertices ? flow[source * s.batch + record] : 0.0F;
  };
  fill::add_strip(rows_of(s, graph), strip, first_vertices[strip], s.batch, record, of_edge, starts, heads);
}

// The second half: the sum for a vertex, and the share that starts anew, with the rank of dangling vertices.
FILL_BOTH void pull(int item, const Shape& s, const Range& vertices, const Graph& graph, const float* restart,
                    const float* dangling_sums, const float* starts, const float* heads, float* ranks,
                    float* flow_out) {
  const int v = vertices.first + item / s.batch, record = item % s.batch, place = v * s.batch + record;
  const float sum = fill::sum_of_vertex(rows_of(s, graph), v, s.batch, record, starts, heads);
  const float anew = (1.0F - s.damping + s.damping * dangling_sums[record]) * restart[place];
  const float rank = s.damping * sum + anew;
  const int degree = graph.degrees[v];
  ranks[place] = rank;
  flow_out[place] = degree == 0 ? 0.0F : rank / static_cast<float>(degree);
}

// The ranks of a record next to each other, as a result has them.
FILL_BOTH void write(int item, const Shape& s, const float* ranks, float* out) {
  out[item] = ranks[item % s.vertices * s.batch + item / s.vertices];
}

}  // namespace pagerank
