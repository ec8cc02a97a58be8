// Fill job: personalised PageRank. Weights are a graph, a list of edges in a file; a record is a list of vertices, its
// seeds, and its results are the ranks of all vertices, how far the last step moved them, and how many of the seeds are
// vertices. README.md has an example.
//
// Arguments: batch=4 (records of a unit), steps=50 (of each), damping=85 (hundredths). Everything else is in the
// shapes. Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "../support.h"
#include "../taking.h"
#include "correctness.h"
#include "kernels.h"

struct weft_fill_job {
  weft_fill_host host{};
  int batch = 4, steps = 50, damping = 85;
  pagerank::Shape shape;
  pagerank::Graph graph{};
  pagerank::Seeds seeds{};
  int *places = nullptr, *first_vertices = nullptr;  // of the seeds; of the strips of edges
  float *weights = nullptr, *restart = nullptr, *parts = nullptr, *dangling = nullptr;
  std::array<float*, 2> ranks{}, flow{};      // of one step and the next
  float *starts = nullptr, *heads = nullptr;  // see strips.h
  float *result = nullptr, *change = nullptr;
  int* known = nullptr;
};

namespace {

constexpr int most_items = 1 << 30;  // that a kernel counts
constexpr std::uint64_t most_edges = (1U << 31U) - 1;
constexpr int most_parts = 1024;            // of a sum
constexpr double work_of_launch = 1 << 19;  // numbers that one launch adds or makes, about

// The parts of init(), one after the other.
void find_shape(weft_fill_job& job, fill::Taking& take) {
  const weft_fill_tensor ids = take.weights_like<std::int64_t>("ids", 1, most_items);
  const weft_fill_tensor sources = take.weights_like<std::int32_t>("sources", 1, most_edges);
  const weft_fill_tensor seeds = take.input_like("seeds", 1);
  if (take.failed()) return;
  pagerank::Shape& s = job.shape;
  s.batch = job.batch;
  s.damping = static_cast<float>(job.damping) / 100;
  s.vertices = static_cast<int>(ids.shape[0]);
  s.edges = static_cast<int>(sources.shape[0]);
  s.parts = std::clamp(s.vertices / 16, 1, most_parts);
  const double rows = std::max({1.0 * s.vertices, static_cast<double>(seeds.shape[0]), 1.0 * fill::strips_of(s.edges)});
  if (rows * s.batch > most_items)
    return take.fail("a batch of " + std::to_string(s.batch) + " such records is too large");
  s.seeds = static_cast<int>(seeds.shape[0]);
}

void take_files(weft_fill_job& job, fill::Taking& take) {
  const pagerank::Shape& s = job.shape;
  take.records(s.batch);
  job.seeds.ids = take.input<std::int64_t>("seeds", {s.seeds}, &job.seeds.lengths);
  job.result = take.output<float>("ranks", {s.vertices});
  job.change = take.output<float>("change", {});
  job.known = take.output<std::int32_t>("known", {});
  job.graph.ids = take.weights<std::int64_t>("ids", {s.vertices});
  job.graph.offsets = take.weights<std::int32_t>("offsets", {s.vertices + 1});
  job.graph.sources = take.weights<std::int32_t>("sources", {s.edges});
  job.graph.degrees = take.weights<std::int32_t>("degrees", {s.vertices});
}

void take_memory(weft_fill_job& job, fill::Taking& take) {
  const pagerank::Shape& s = job.shape;
  job.places = take.device<int>(1.0 * s.batch * s.seeds);
  job.weights = take.device<float>(s.batch);
  job.dangling = take.device<float>(s.batch);
  job.parts = take.device<float>(1.0 * s.parts * s.batch);
  job.first_vertices = take.device<int>(fill::strips_of(s.edges));
  job.heads = take.device<float>(1.0 * fill::strips_of(s.edges) * s.batch);
  job.starts = take.device<float>(1.0 * s.vertices * s.batch);
  job.restart = take.device<float>(1.0 * s.vertices * s.batch);
  for (auto* const pair : {&job.ranks, &job.flow})
    for (float*& numbers : *pair) numbers = take.device<float>(1.0 * s.vertices * s.batch);
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    const std::array<fill::Argument, 3> known{
        {{"batch", &job.batch, 1, 65536}, {"steps", &job.steps, 1, 10000}, {"damping", &job.damping, 0, 99}}};
    const std::string wrong = fill::read_arguments(arguments, known);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host);
    find_shape(job, take);
    take_files(job, take);
    take_memory(job, take);
    return take.wrong();
  });
}

// From ranks[from] to the other ones.
void record_step(const weft_fill_job& job, const pagerank::Launch& to, std::size_t from) {
  const pagerank::Shape& s = job.shape;
  launch_dangling(to, s, job.graph, job.ranks[from], job.parts);
  launch_total(to, s, job.parts, job.dangling);
  const int strips = fill::strips_of(s.edges);
  fill::in_ranges<pagerank::Range>(strips, 1.0 * s.edges * s.batch / work_of_launch, [&](const pagerank::Range& range) {
    launch_add(to, s, range, job.graph, job.first_vertices, job.flow[from], job.starts, job.heads);
  });
  fill::in_ranges<pagerank::Range>(s.vertices, 1.0 * s.vertices * s.batch / work_of_launch,
                                   [&](const pagerank::Range& range) {
                                     launch_pull(to, s, range, job.graph, job.restart, job.dangling, job.starts,
                                                 job.heads, job.ranks[1 - from], job.flow[1 - from]);
                                   });
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const pagerank::Shape& s = job->shape;
  const pagerank::Launch to{static_cast<int>(job->host.max_blocks), static_cast<cudaStream_t>(stream_handle)};
  launch_locate(to, s, job->graph, job->seeds, job->places);
  launch_weigh(to, s, job->seeds, job->places, job->known, job->weights);
  launch_spread(to, s, job->known, job->weights, job->restart);
  launch_gather(to, s, job->places, job->weights, job->restart);
  launch_find_strips(to, s, job->graph, job->first_vertices);
  launch_begin(to, s, job->graph, job->restart, job->ranks[0], job->flow[0]);
  std::size_t now = 0;
  for (int step = 0; step < job->steps; ++step, now = 1 - now) record_step(*job, to, now);
  launch_change(to, s, job->ranks[now], job->ranks[1 - now], job->parts);
  launch_total(to, s, job->parts, job->change);
  launch_write(to, s, job->ranks[now], job->result);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

int check(weft_fill_job* job, const weft_fill_records* records, int* correct) {
  *correct = pagerank::correctness({job->shape.vertices, static_cast<int>(records->count), records->input_lengths[0],
                                    static_cast<const float*>(records->outputs[0]),
                                    static_cast<const float*>(records->outputs[1]),
                                    static_cast<const int*>(records->outputs[2])});
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
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        destroy,
                                        check};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}
