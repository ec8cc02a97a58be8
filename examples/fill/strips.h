// Common to the example fill jobs that add up numbers of edges for each vertex: in strips of a few edges, so that the
// edges of a vertex with very many are the work of many threads.
//
// The time of a strip is bounded, whatever the graph. That of sum_of_vertex() is not: one thread adds up the heads of a
// vertex, one for each sixteen of its edges. Meant are graphs whose largest vertex has up to some 100,000 edges.
//
// Compiled by nvcc for the GPU and by the host's compiler for the simulated one. Edges are sorted by vertex, `offsets`
// are as the feeder reads them from a file of edges (docs/records.md). A strip adds up its edges vertex by vertex: the
// part of a vertex that begins in it goes to `starts` of the vertex, that of one which began before it to `heads` of
// the strip. The sum of a vertex is its start and the heads of the strips that follow. The order of all sums is fixed.
// Whatever the offsets are, nothing is touched out of bounds.
#pragma once

#include "both.h"

namespace fill {

constexpr int edges_of_strip = 16;

struct Rows {
  const int* offsets;  // of each vertex: its first edge; at the end, how many edges there are
  int vertices, edges;
};

FILL_BOTH int strips_of(int edges) {
  return edges / edges_of_strip + (edges % edges_of_strip == 0 ? 0 : 1);
}

// The vertex from `low` on that has the edge: the last one that begins at it or before it.
FILL_BOTH int vertex_of(const Rows& rows, int edge, int low) {
  int high = rows.vertices - 1;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (rows.offsets[middle] <= edge)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// One of `width` sums for each vertex. `first_vertex`: that of the strip's first edge; `of_edge`: the number of an
// edge.
template <class OfEdge>
FILL_BOTH void add_strip(const Rows& rows, int strip, int first_vertex, int width, int which, const OfEdge& of_edge,
                         float* starts, float* heads) {
  const int begin = strip * edges_of_strip;
  const int end = rows.edges - begin < edges_of_strip ? rows.edges : begin + edges_of_strip;
  int v = first_vertex;
  float* sum_of = rows.offsets[v] < begin ? heads + strip * width + which : starts + v * width + which;
  float sum = 0;
  for (int edge = begin; edge < end; ++edge) {
    if (v + 1 < rows.vertices && rows.offsets[v + 1] <= edge) {
      *sum_of = sum;
      sum = 0;
      ++v;
      // Most vertices have edges; there may be many on end without.
      if (v + 1 < rows.vertices && rows.offsets[v + 1] <= edge) v = vertex_of(rows, edge, v + 1);
      sum_of = starts + v * width + which;
    }
    sum += of_edge(edge);
  }
  *sum_of = sum;
}

FILL_BOTH float sum_of_vertex(const Rows& rows, int v, int width, int which, const float* starts, const float* heads) {
  const int begin = rows.offsets[v] > 0 ? rows.offsets[v] : 0;
  const int end = rows.offsets[v + 1] < rows.edges ? rows.offsets[v + 1] : rows.edges;
  if (begin >= end) return 0;
  float sum = starts[v * width + which];
  for (int strip = begin / edges_of_strip + 1; strip <= (end - 1) / edges_of_strip; ++strip)
    sum += heads[strip * width + which];
  return sum;
}

}  // namespace fill
