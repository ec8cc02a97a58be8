// Fill job: personalised PageRank on a generated graph. A unit takes another start vertex, iterates, copies the ranks
// to the host, which computes the same and compares.
//
// Arguments: vertices=1024, degree=8 (edges out of each), steps=8 (iterations per unit). Called by Weft, see
// weft/fill.h.
#include "pagerank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "support.h"

struct weft_fill_job {
  int vertices = 1024;
  int degree = 8;
  int steps = 8;
  int blocks = 0;
  weft_fill_host host{};
  std::vector<int> first_of, source_of;  // the graph on the host, by target
  int *first = nullptr, *sources = nullptr;
  float *inverse_degree = nullptr, *teleport = nullptr, *ranks[2] = {nullptr, nullptr};
  int *pinned_first = nullptr, *pinned_sources = nullptr;
  float *pinned_degree = nullptr, *pinned_teleport = nullptr, *result = nullptr;
};

namespace {

template <class T>
bool device_array(const weft_fill_host& host, std::size_t count, T*& out) {
  out = reinterpret_cast<T*>(static_cast<std::uintptr_t>(host.allocate(host.context, count * sizeof(T))));
  return out != nullptr;
}

template <class T>
bool pinned_array(const weft_fill_host& host, std::size_t count, T*& out) {
  out = static_cast<T*>(host.allocate_host(host.context, count * sizeof(T)));
  return out != nullptr;
}

// A graph in which every vertex has `degree` edges, to targets spread by a fixed rule.
void make_graph(weft_fill_job& job) {
  const auto n = static_cast<unsigned>(job.vertices);
  std::vector<std::vector<int>> into(n);
  for (unsigned v = 0; v < n; ++v)
    for (unsigned e = 0; e < static_cast<unsigned>(job.degree); ++e)
      into[(v * 2654435761U + e * e * 40503U + e) % n].push_back(static_cast<int>(v));
  job.first_of.assign(1, 0);
  for (const std::vector<int>& sources : into) {
    job.source_of.insert(job.source_of.end(), sources.begin(), sources.end());
    job.first_of.push_back(static_cast<int>(job.source_of.size()));
  }
}

std::string allocate(weft_fill_job& job) {
  const auto n = static_cast<std::size_t>(job.vertices), edges = job.source_of.size();
  const weft_fill_host& host = job.host;
  if (!(device_array(host, n + 1, job.first) && device_array(host, edges, job.sources) &&
        device_array(host, n, job.inverse_degree) && device_array(host, n, job.teleport) &&
        device_array(host, n, job.ranks[0]) && device_array(host, n, job.ranks[1])))
    return "a graph of " + std::to_string(n) + " vertices and " + std::to_string(edges) +
           " edges does not fit into the memory cap of " + std::to_string(host.memory_cap) + " bytes";
  if (!(pinned_array(host, n + 1, job.pinned_first) && pinned_array(host, edges, job.pinned_sources) &&
        pinned_array(host, n, job.pinned_degree) && pinned_array(host, n, job.pinned_teleport) &&
        pinned_array(host, n, job.result)))
    return "no pinned host memory";
  return {};
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  auto* job = new (std::nothrow) weft_fill_job;
  if (job == nullptr) return fill::fail(*host, "no host memory");
  job->host = fill::copy_of(*host);
  const std::array<fill::Argument, 3> known{
      {{"vertices", &job->vertices, 2, 1 << 24}, {"degree", &job->degree, 1, 64}, {"steps", &job->steps, 1, 1024}}};
  std::string wrong = fill::read_arguments(arguments, known);
  if (wrong.empty()) {
    make_graph(*job);
    wrong = allocate(*job);
  }
  if (!wrong.empty()) {
    delete job;
    return fill::fail(*host, wrong);
  }
  job->blocks =
      static_cast<int>(std::min<std::uint32_t>(host->max_blocks, static_cast<unsigned>(job->vertices + 31) / 32));
  std::copy(job->first_of.begin(), job->first_of.end(), job->pinned_first);
  std::copy(job->source_of.begin(), job->source_of.end(), job->pinned_sources);
  std::fill_n(job->pinned_degree, job->vertices, 1.0F / static_cast<float>(job->degree));
  *out = job;
  return 0;
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const auto n = static_cast<std::size_t>(job->vertices);
  const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind, stream);
  };
  // The graph travels with each unit: it is small, and a unit then depends on nothing but its own start vertex.
  std::array<cudaError_t, 6> errors{
      copy(job->first, job->pinned_first, (n + 1) * sizeof(int), cudaMemcpyHostToDevice),
      copy(job->sources, job->pinned_sources, job->source_of.size() * sizeof(int), cudaMemcpyHostToDevice),
      copy(job->inverse_degree, job->pinned_degree, n * sizeof(float), cudaMemcpyHostToDevice),
      copy(job->teleport, job->pinned_teleport, n * sizeof(float), cudaMemcpyHostToDevice),
      copy(job->ranks[0], job->pinned_teleport, n * sizeof(float), cudaMemcpyHostToDevice),
      cudaSuccess};
  for (int step = 0; step < job->steps; ++step)
    fill::launch_pagerank(job->first, job->sources, job->inverse_degree, job->teleport, job->ranks[step % 2],
                          job->ranks[(step + 1) % 2], job->vertices, job->blocks, stream);
  errors.back() = copy(job->result, job->ranks[job->steps % 2], n * sizeof(float), cudaMemcpyDeviceToHost);
  for (const cudaError_t error : errors)
    if (error != cudaSuccess) return fill::fail(job->host, cudaGetErrorString(error));
  return 0;
}

int start_vertex(const weft_fill_job& job, uint64_t unit) {
  return static_cast<int>(unit * 7919U % static_cast<uint64_t>(job.vertices));
}

int begin_unit(weft_fill_job* job, uint64_t unit) {
  std::memset(job->pinned_teleport, 0, static_cast<std::size_t>(job->vertices) * sizeof(float));
  job->pinned_teleport[start_vertex(*job, unit)] = 1.0F;
  return 0;
}

int end_unit(weft_fill_job* job, uint64_t unit, int* correct) {
  const auto n = static_cast<std::size_t>(job->vertices);
  const float share = 1.0F / static_cast<float>(job->degree);
  const auto start = static_cast<std::size_t>(start_vertex(*job, unit));
  std::vector<float> rank(n, 0.0F), next(n);
  rank[start] = 1.0F;
  for (int step = 0; step < job->steps; ++step) {
    for (std::size_t v = 0; v < n; ++v) {
      float sum = 0;
      for (int edge = job->first_of[v]; edge < job->first_of[v + 1]; ++edge)
        sum += rank[static_cast<std::size_t>(job->source_of[static_cast<std::size_t>(edge)])] * share;
      next[v] = (v == start ? 1.0F - fill::damping : 0.0F) + fill::damping * sum;
    }
    std::swap(rank, next);
  }
  *correct = 1;
  // A GPU may fuse a multiplication and an addition: equal up to rounding.
  for (std::size_t v = 0; v < n; ++v)
    if (!(std::abs(job->result[v] - rank[v]) <= 1e-6F)) *correct = 0;
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "pagerank",
                                        init,
                                        record_unit,
                                        begin_unit,
                                        end_unit,
                                        nullptr,
                                        nullptr,
                                        destroy,
                                        nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}
