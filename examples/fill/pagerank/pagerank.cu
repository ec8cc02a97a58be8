// GPU code of the PageRank job. See kernels.h. Threads stride over the results.
#include "kernels.h"

using fill::first_item;
using fill::stride;

extern "C" {

__global__ void pagerank_locate(pagerank::Shape s, pagerank::Graph graph, pagerank::Seeds seeds, int* places) {
  for (int i = first_item(); i < pagerank::items::locate(s); i += stride())
    pagerank::locate(i, s, graph, seeds, places);
}

__global__ void pagerank_weigh(pagerank::Shape s, pagerank::Seeds seeds, const int* places, int* known,
                               float* weights) {
  for (int i = first_item(); i < pagerank::items::weigh(s); i += stride())
    pagerank::weigh(i, s, seeds, places, known, weights);
}

__global__ void pagerank_spread(pagerank::Shape s, const int* known, const float* weights, float* restart) {
  for (int i = first_item(); i < pagerank::items::spread(s); i += stride())
    pagerank::spread(i, s, known, weights, restart);
}

__global__ void pagerank_gather(pagerank::Shape s, const int* places, const float* weights, float* restart) {
  for (int i = first_item(); i < pagerank::items::gather(s); i += stride())
    pagerank::gather(i, s, places, weights, restart);
}

__global__ void pagerank_begin(pagerank::Shape s, pagerank::Graph graph, const float* restart, float* ranks,
                               float* flow) {
  for (int i = first_item(); i < pagerank::items::begin(s); i += stride())
    pagerank::begin(i, s, graph, restart, ranks, flow);
}

__global__ void pagerank_dangling(pagerank::Shape s, pagerank::Graph graph, const float* ranks, float* parts) {
  for (int i = first_item(); i < pagerank::items::dangling(s); i += stride())
    pagerank::dangling(i, s, graph, ranks, parts);
}

__global__ void pagerank_change(pagerank::Shape s, const float* ranks, const float* before, float* parts) {
  for (int i = first_item(); i < pagerank::items::change(s); i += stride())
    pagerank::change(i, s, ranks, before, parts);
}

__global__ void pagerank_total(pagerank::Shape s, const float* parts, float* sums) {
  for (int i = first_item(); i < pagerank::items::total(s); i += stride()) pagerank::total(i, s, parts, sums);
}

__global__ void pagerank_find_strips(pagerank::Shape s, pagerank::Graph graph, int* first_vertices) {
  for (int i = first_item(); i < pagerank::items::find_strips(s); i += stride())
    pagerank::find_strips(i, s, graph, first_vertices);
}

__global__ void pagerank_add(pagerank::Shape s, pagerank::Range strips, pagerank::Graph graph,
                             const int* first_vertices, const float* flow, float* starts, float* heads) {
  for (int i = first_item(); i < pagerank::items::add(s, strips); i += stride())
    pagerank::add(i, s, strips, graph, first_vertices, flow, starts, heads);
}

__global__ void pagerank_pull(pagerank::Shape s, pagerank::Range vertices, pagerank::Graph graph, const float* restart,
                              const float* dangling_sums, const float* starts, const float* heads, float* ranks,
                              float* flow_out) {
  for (int i = first_item(); i < pagerank::items::pull(s, vertices); i += stride())
    pagerank::pull(i, s, vertices, graph, restart, dangling_sums, starts, heads, ranks, flow_out);
}

__global__ void pagerank_write(pagerank::Shape s, const float* ranks, float* out) {
  for (int i = first_item(); i < pagerank::items::write(s); i += stride()) pagerank::write(i, s, ranks, out);
}

}  // extern "C"

namespace pagerank {

void launch_locate(const Launch& to, const Shape& s, const Graph& graph, const Seeds& seeds, int* places) {
  const int count = items::locate(s);
  pagerank_locate<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, graph, seeds, places);
}

void launch_weigh(const Launch& to, const Shape& s, const Seeds& seeds, const int* places, int* known, float* weights) {
  const int count = items::weigh(s);
  pagerank_weigh<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, seeds, places, known, weights);
}

void launch_spread(const Launch& to, const Shape& s, const int* known, const float* weights, float* restart) {
  const int count = items::spread(s);
  pagerank_spread<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, known, weights, restart);
}

void launch_gather(const Launch& to, const Shape& s, const int* places, const float* weights, float* restart) {
  const int count = items::gather(s);
  pagerank_gather<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, places, weights, restart);
}

void launch_begin(const Launch& to, const Shape& s, const Graph& graph, const float* restart, float* ranks,
                  float* flow) {
  const int count = items::begin(s);
  pagerank_begin<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, graph, restart, ranks, flow);
}

void launch_dangling(const Launch& to, const Shape& s, const Graph& graph, const float* ranks, float* parts) {
  const int count = items::dangling(s);
  pagerank_dangling<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, graph, ranks, parts);
}

void launch_change(const Launch& to, const Shape& s, const float* ranks, const float* before, float* parts) {
  const int count = items::change(s);
  pagerank_change<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, ranks, before, parts);
}

void launch_total(const Launch& to, const Shape& s, const float* parts, float* sums) {
  const int count = items::total(s);
  pagerank_total<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, parts, sums);
}

void launch_find_strips(const Launch& to, const Shape& s, const Graph& graph, int* first_vertices) {
  const int count = items::find_strips(s);
  pagerank_find_strips<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, graph, first_vertices);
}

void launch_add(const Launch& to, const Shape& s, const Range& strips, const Graph& graph, const int* first_vertices,
                const float* flow, float* starts, float* heads) {
  const int count = items::add(s, strips);
  pagerank_add<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, strips, graph, first_vertices, flow,
                                                                                starts, heads);
}

void launch_pull(const Launch& to, const Shape& s, const Range& vertices, const Graph& graph, const float* restart,
                 const float* dangling_sums, const float* starts, const float* heads, float* ranks, float* flow_out) {
  const int count = items::pull(s, vertices);
  pagerank_pull<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(
      s, vertices, graph, restart, dangling_sums, starts, heads, ranks, flow_out);
}

void launch_write(const Launch& to, const Shape& s, const float* ranks, float* out) {
  const int count = items::write(s);
  pagerank_write<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, ranks, out);
}

}  // namespace pagerank
