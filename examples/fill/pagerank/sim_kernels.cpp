// Effect and cost of the PageRank job's kernels on the simulated GPU: the functions of ranking.h, and their operations
// and bytes. See sim/include/simgpu/kernels.h.
#include <algorithm>
#include <cmath>

#include "ranking.h"
#include "simgpu/kernels.h"

namespace {

using pagerank::Graph;
using pagerank::Range;
using pagerank::Seeds;
using pagerank::Shape;

constexpr double sector = 32;  // bytes that are moved for a number that stands alone

void locate(const simgpu_launch&, Shape s, Graph graph, Seeds seeds, int* places) {
  for (int i = 0; i < pagerank::items::locate(s); ++i) pagerank::locate(i, s, graph, seeds, places);
}
simgpu_cost locate_cost(const simgpu_launch&, Shape s, Graph, Seeds, int*) {
  const double seeds = pagerank::items::locate(s), steps = std::log2(1.0 * s.vertices + 1);
  return {2.0 * seeds * steps, seeds * (12.0 + sector * steps)};
}

void weigh(const simgpu_launch&, Shape s, Seeds seeds, const int* places, int* known, float* weights) {
  for (int i = 0; i < pagerank::items::weigh(s); ++i) pagerank::weigh(i, s, seeds, places, known, weights);
}
simgpu_cost weigh_cost(const simgpu_launch&, Shape s, Seeds, const int*, int*, float*) {
  return {1.0 * s.batch * s.seeds, 4.0 * s.batch * s.seeds};
}

void spread(const simgpu_launch&, Shape s, const int* known, const float* weights, float* restart) {
  for (int i = 0; i < pagerank::items::spread(s); ++i) pagerank::spread(i, s, known, weights, restart);
}
simgpu_cost spread_cost(const simgpu_launch&, Shape s, const int*, const float*, float*) {
  return {1.0 * pagerank::items::spread(s), 4.0 * pagerank::items::spread(s)};
}

void gather(const simgpu_launch&, Shape s, const int* places, const float* weights, float* restart) {
  for (int i = 0; i < pagerank::items::gather(s); ++i) pagerank::gather(i, s, places, weights, restart);
}
simgpu_cost gather_cost(const simgpu_launch&, Shape s, const int*, const float*, float*) {
  return {1.0 * s.batch * s.seeds, (4.0 + 2 * sector) * s.batch * s.seeds};
}

void begin(const simgpu_launch&, Shape s, Graph graph, const float* restart, float* ranks, float* flow) {
  for (int i = 0; i < pagerank::items::begin(s); ++i) pagerank::begin(i, s, graph, restart, ranks, flow);
}
simgpu_cost begin_cost(const simgpu_launch&, Shape s, Graph, const float*, float*, float*) {
  return {1.0 * pagerank::items::begin(s), 12.0 * pagerank::items::begin(s) + 4.0 * s.vertices};
}

void dangling(const simgpu_launch&, Shape s, Graph graph, const float* ranks, float* parts) {
  for (int i = 0; i < pagerank::items::dangling(s); ++i) pagerank::dangling(i, s, graph, ranks, parts);
}
simgpu_cost dangling_cost(const simgpu_launch&, Shape s, Graph, const float*, float*) {
  return {2.0 * s.vertices * s.batch, 4.0 * s.vertices * (1.0 + s.batch)};
}

void change(const simgpu_launch&, Shape s, const float* ranks, const float* before, float* parts) {
  for (int i = 0; i < pagerank::items::change(s); ++i) pagerank::change(i, s, ranks, before, parts);
}
simgpu_cost change_cost(const simgpu_launch&, Shape s, const float*, const float*, float*) {
  return {3.0 * s.vertices * s.batch, 8.0 * s.vertices * s.batch};
}

void total(const simgpu_launch&, Shape s, const float* parts, float* sums) {
  for (int i = 0; i < pagerank::items::total(s); ++i) pagerank::total(i, s, parts, sums);
}
simgpu_cost total_cost(const simgpu_launch&, Shape s, const float*, float*) {
  return {1.0 * s.parts * s.batch, 4.0 * s.parts * s.batch};
}

void find_strips(const simgpu_launch&, Shape s, Graph graph, int* first_vertices) {
  for (int i = 0; i < pagerank::items::find_strips(s); ++i) pagerank::find_strips(i, s, graph, first_vertices);
}
simgpu_cost find_strips_cost(const simgpu_launch&, Shape s, Graph, int*) {
  const double strips = pagerank::items::find_strips(s), steps = std::log2(1.0 * s.vertices + 1);
  return {2.0 * strips * steps, strips * (4.0 + sector * steps)};
}

void add(const simgpu_launch&, Shape s, Range strips, Graph graph, const int* first_vertices, const float* flow,
         float* starts, float* heads) {
  for (int i = 0; i < pagerank::items::add(s, strips); ++i)
    pagerank::add(i, s, strips, graph, first_vertices, flow, starts, heads);
}
simgpu_cost add_cost(const simgpu_launch&, Shape s, Range strips, Graph, const int*, const float*, float*, float*) {
  const double edges = std::min(1.0 * strips.count * fill::edges_of_strip, 1.0 * s.edges);
  const double results = edges / s.edges * s.vertices + strips.count;
  return {2.0 * edges * s.batch, edges * (4.0 + std::max(sector, 4.0 * s.batch)) + results * (4.0 + 4.0 * s.batch)};
}

void pull(const simgpu_launch&, Shape s, Range vertices, Graph graph, const float* restart, const float* dangling_sums,
          const float* starts, const float* heads, float* ranks, float* flow_out) {
  for (int i = 0; i < pagerank::items::pull(s, vertices); ++i)
    pagerank::pull(i, s, vertices, graph, restart, dangling_sums, starts, heads, ranks, flow_out);
}
simgpu_cost pull_cost(const simgpu_launch&, Shape s, Range vertices, Graph, const float*, const float*, const float*,
                      const float*, float*, float*) {
  const double results = pagerank::items::pull(s, vertices);
  const double heads = 1.0 * pagerank::items::find_strips(s) / s.vertices * results;
  return {6.0 * results + heads, 16.0 * results + 4.0 * heads + 8.0 * vertices.count};
}

void write(const simgpu_launch&, Shape s, const float* ranks, float* out) {
  for (int i = 0; i < pagerank::items::write(s); ++i) pagerank::write(i, s, ranks, out);
}
simgpu_cost write_cost(const simgpu_launch&, Shape s, const float*, float*) {
  return {1.0 * pagerank::items::write(s), 8.0 * pagerank::items::write(s)};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<locate, locate_cost>("pagerank_locate"),
    simgpu::kernel<weigh, weigh_cost>("pagerank_weigh"),
    simgpu::kernel<spread, spread_cost>("pagerank_spread"),
    simgpu::kernel<gather, gather_cost>("pagerank_gather"),
    simgpu::kernel<begin, begin_cost>("pagerank_begin"),
    simgpu::kernel<dangling, dangling_cost>("pagerank_dangling"),
    simgpu::kernel<change, change_cost>("pagerank_change"),
    simgpu::kernel<total, total_cost>("pagerank_total"),
    simgpu::kernel<find_strips, find_strips_cost>("pagerank_find_strips"),
    simgpu::kernel<add, add_cost>("pagerank_add"),
    simgpu::kernel<pull, pull_cost>("pagerank_pull"),
    simgpu::kernel<write, write_cost>("pagerank_write"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 12, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
