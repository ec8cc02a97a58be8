// Fill job: low-rank factors of the values of a graph, by gradient descent. Weights are a list of edges with values in
// a file; there are no records. A unit is some steps, each on another part of the edges. README.md has an example.
//
// The state goes from run to run as the bytes of a .safetensors file (save, restore), and lies in pinned memory in two
// places: a unit begins with the one and ends with the other, so that one that is cut off leaves nothing behind.
//
// Arguments: factors=8, steps=10 (of a unit), minibatch=25 (hundredths of the edges, in each step), rate=200
// (thousandths), decay=100 (millionths), seed=1. Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "../digest.h"
#include "../support.h"
#include "../taking.h"
#include "kernels.h"
#include "state.h"

struct weft_fill_job {
  weft_fill_host host{};
  int factors = 8, steps = 10, minibatch = 25, rate = 200, decay = 100, seed = 1;
  factorize::Shape shape;
  std::uint64_t digest = 0;   // of the graph
  factorize::Rule rule, all;  // `all`: every edge is chosen
  factorize::Graph graph{};
  // Device.
  std::array<float*, 2> state{};  // of one step and the next: factors of sources, then of targets
  int *first_sources = nullptr, *first_targets = nullptr;  // of the strips of edges
  float *starts = nullptr, *heads = nullptr;               // see strips.h
  float *errors = nullptr, *sums = nullptr, *losses = nullptr;
  int* counts = nullptr;
  std::int64_t* step = nullptr;
  // Pinned.
  factorize::Kept kept{};
  std::uint32_t* place = nullptr;
  std::int64_t* kept_step = nullptr;
  float* ended_losses = nullptr;  // of all edges, of each step of the unit, of all edges behind the last one
  factorize::History history;
};

namespace {

constexpr int most_items = 1 << 30;         // that a kernel counts
constexpr int most_parts = 1024;            // of a sum
constexpr double work_of_launch = 1 << 19;  // numbers that one launch adds or copies, about

// The parts of init(), one after the other.
void find_shape(weft_fill_job& job, fill::Taking& take) {
  const weft_fill_tensor ids = take.weights_like<std::int64_t>("ids", 1, most_items);
  const weft_fill_tensor sources = take.weights_like<std::int32_t>("sources", 1, most_items);
  if (!take.failed() && !take.has_weights("values")) take.fail("the edges have no values (a third column)");
  if (take.failed()) return;
  factorize::Shape& s = job.shape;
  s.factors = job.factors;
  s.vertices = static_cast<int>(ids.shape[0]);
  s.edges = static_cast<int>(sources.shape[0]);
  s.parts = std::clamp(s.edges / 8, 1, most_parts);
  if (2.0 * std::max(s.vertices, fill::strips_of(s.edges)) * s.factors > most_items)
    take.fail(std::to_string(s.factors) + " factors for each of " + std::to_string(s.vertices) + " vertices and " +
              std::to_string(s.edges) + " edges are too many");
}

void find_rule(weft_fill_job& job) {
  constexpr std::uint32_t every = 0xFFFFFFFF;
  job.rule.seed = static_cast<std::uint32_t>(job.seed);
  job.rule.rate = static_cast<float>(job.rate) / 1000;
  job.rule.decay = static_cast<float>(job.decay) / 1e6F;
  job.rule.share = static_cast<float>(job.minibatch) / 100;
  job.rule.chosen = static_cast<std::uint32_t>(std::uint64_t{every} * static_cast<unsigned>(job.minibatch) / 100);
  job.all = job.rule;
  job.all.share = 1;
  job.all.chosen = every;
}

void take_graph(weft_fill_job& job, fill::Taking& take) {
  const factorize::Shape& s = job.shape;
  job.graph.offsets = take.weights<std::int32_t>("offsets", {s.vertices + 1});
  job.graph.sources = take.weights<std::int32_t>("sources", {s.edges});
  job.graph.out_offsets = take.weights<std::int32_t>("out_offsets", {s.vertices + 1});
  job.graph.out_targets = take.weights<std::int32_t>("out_targets", {s.edges});
  job.graph.out_numbers = take.weights<std::int32_t>("out_numbers", {s.edges});
  job.graph.values = take.weights<float>("values", {s.edges});
  const std::int64_t* const ids = take.weights<std::int64_t>("ids", {s.vertices});
  // The other arrays are another order of these.
  fill::DeviceReader reader(take);
  const auto vertices = static_cast<std::uint64_t>(s.vertices), edges = static_cast<std::uint64_t>(s.edges);
  job.digest = fill::digest_of_array(job.digest, reader, ids, vertices);
  job.digest = fill::digest_of_array(job.digest, reader, job.graph.offsets, vertices + 1);
  job.digest = fill::digest_of_array(job.digest, reader, job.graph.sources, edges);
  job.digest = fill::digest_of_array(job.digest, reader, job.graph.values, edges);
}

std::size_t numbers_of_state(const weft_fill_job& job) {
  return std::size_t{2} * static_cast<std::size_t>(job.shape.vertices) * static_cast<std::size_t>(job.shape.factors);
}

// Of each step, of all edges before the first one, and behind the last one.
int losses_of_unit(const weft_fill_job& job) {
  return job.steps + 2;
}

void take_memory(weft_fill_job& job, fill::Taking& take) {
  const auto numbers = static_cast<double>(numbers_of_state(job));
  for (float*& state : job.state) state = take.device<float>(numbers);
  const int strips = fill::strips_of(job.shape.edges);
  for (int** const first : {&job.first_sources, &job.first_targets}) *first = take.device<int>(strips);
  job.starts = take.device<float>(numbers / 2);
  job.heads = take.device<float>(1.0 * strips * job.shape.factors);
  job.errors = take.device<float>(job.shape.edges);
  job.sums = take.device<float>(job.shape.parts);
  job.counts = take.device<int>(job.shape.parts);
  job.losses = take.device<float>(losses_of_unit(job));
  job.step = take.device<std::int64_t>(1);
  for (float*& place : job.kept.places) place = take.pinned<float>(numbers);
  job.kept.place = job.place = take.pinned<std::uint32_t>(1);
  job.kept.step = job.kept_step = take.pinned<std::int64_t>(1);
  job.ended_losses = take.pinned<float>(losses_of_unit(job));
  if (take.failed()) return;
  *job.place = 0;
  *job.kept_step = 0;
  for (std::size_t i = 0; i < numbers_of_state(job); ++i)
    job.kept.places[0][i] = factorize::first_factor(job.rule, job.shape, static_cast<int>(i));
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    const std::array<fill::Argument, 6> known{{{"factors", &job.factors, 1, 1024},
                                               {"steps", &job.steps, 1, 10000},
                                               {"minibatch", &job.minibatch, 1, 100},
                                               {"rate", &job.rate, 1, 100000},
                                               {"decay", &job.decay, 0, 1000000},
                                               {"seed", &job.seed, 0, 1 << 30}}};
    const std::string wrong = fill::read_arguments(arguments, known);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host);
    find_shape(job, take);
    find_rule(job);
    take_graph(job, take);
    take_memory(job, take);
    return take.wrong();
  });
}

factorize::Factors factors_in(const weft_fill_job& job, float* state) {
  return {state, state + numbers_of_state(job) / 2};
}

template <class Launching>
void in_ranges(int count, double work, Launching launch) {
  fill::in_ranges<factorize::Range>(count, work / work_of_launch, launch);
}

// The loss of the factors at that step, which becomes the one of that number.
void record_loss(const weft_fill_job& job, const fill::Launch& to, const factorize::Rule& rule, int step, int number,
                 const factorize::Factors& factors) {
  const factorize::Shape& s = job.shape;
  in_ranges(s.edges, 1.0 * s.edges * s.factors, [&](const factorize::Range& edges) {
    launch_errors(to, s, rule, edges, job.step, step, job.graph, factors, job.errors);
  });
  launch_squares(to, s, rule, job.step, step, job.errors, job.sums, job.counts);
  launch_loss(to, s, job.sums, job.counts, job.losses + number);
}

// The factors of both sides go down from the same ones.
void record_descent(const weft_fill_job& job, const fill::Launch& to, const factorize::Factors& from,
                    const factorize::Factors& next) {
  const factorize::Shape& s = job.shape;
  const int strips = fill::strips_of(s.edges);
  const double adding = 1.0 * s.edges * s.factors, making = 1.0 * s.vertices * s.factors;
  const auto descend = [&](const fill::Rows& rows, const float* factors, float* out) {
    in_ranges(s.vertices, making, [&](const factorize::Range& vertices) {
      launch_descend(to, s, job.rule, vertices, rows, job.starts, job.heads, factors, out);
    });
  };
  in_ranges(strips, adding, [&](const factorize::Range& range) {
    launch_add_sources(to, s, range, job.graph, job.first_sources, job.errors, from.targets, job.starts, job.heads);
  });
  descend(factorize::sources_of(s, job.graph), from.sources, next.sources);
  in_ranges(strips, adding, [&](const factorize::Range& range) {
    launch_add_targets(to, s, range, job.graph, job.first_targets, job.errors, from.sources, job.starts, job.heads);
  });
  descend(factorize::targets_of(s, job.graph), from.targets, next.targets);
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const factorize::Shape& s = job->shape;
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const fill::Launch to{static_cast<int>(job->host.max_blocks), stream};
  const auto numbers = static_cast<int>(numbers_of_state(*job));
  factorize::launch_find_strips(to, factorize::sources_of(s, job->graph), job->first_sources);
  factorize::launch_find_strips(to, factorize::targets_of(s, job->graph), job->first_targets);
  in_ranges(numbers, numbers,
            [&](const factorize::Range& range) { launch_load(to, range, job->kept, job->state[0], job->step); });
  std::size_t now = 0;
  record_loss(*job, to, job->all, 0, 0, factors_in(*job, job->state[now]));
  for (int step = 0; step < job->steps; ++step, now = 1 - now) {
    const factorize::Factors from = factors_in(*job, job->state[now]), next = factors_in(*job, job->state[1 - now]);
    record_loss(*job, to, job->rule, step, 1 + step, from);
    record_descent(*job, to, from, next);
  }
  record_loss(*job, to, job->all, job->steps, 1 + job->steps, factors_in(*job, job->state[now]));
  in_ranges(numbers, numbers,
            [&](const factorize::Range& range) { launch_store(to, range, job->kept, job->state[now]); });
  const cudaError_t copied =
      cudaMemcpyAsync(job->ended_losses, job->losses, sizeof(float) * static_cast<std::size_t>(losses_of_unit(*job)),
                      cudaMemcpyDeviceToHost, stream);
  const cudaError_t error = copied != cudaSuccess ? copied : cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

// A unit that never reached its last copy is not right. No mean of squares is below 0.
int begin_unit(weft_fill_job* job, uint64_t) {
  std::fill_n(job->ended_losses, losses_of_unit(*job), -1.0F);
  return 0;
}

// Takes over what the unit has come to. Where that is worse than the beginning it would be so again: the job ends, and
// the state stays as it was.
int end_unit(weft_fill_job* job, uint64_t, int* correct) {
  const float *const first = job->ended_losses, *const last = first + job->steps + 1;
  *correct = std::none_of(first, last + 1, [](float loss) { return loss < 0; }) ? 1 : 0;
  if (*correct == 0) return 0;
  const std::string wrong = job->history.take({*first, *last, first + 1, static_cast<std::size_t>(job->steps)});
  if (!wrong.empty()) return fill::fail(job->host, wrong);
  *job->place = 1 - *job->place;
  *job->kept_step += job->steps;
  return 0;
}

factorize::Saved saved(const weft_fill_job& job) {
  return {{job.shape, job.digest}, *job.kept_step, job.kept.places[*job.place]};
}

uint64_t save(weft_fill_job* job, void* buffer, uint64_t capacity) {
  if (*job->kept_step == 0) return 0;
  const std::uint64_t bytes = factorize::bytes_of_state(job->shape, job->history);
  if (buffer != nullptr && capacity >= bytes) factorize::write_state(saved(*job), job->history, buffer);
  return bytes;
}

int restore(weft_fill_job* job, const void* buffer, uint64_t bytes) {
  const std::string wrong = factorize::read_state({job->shape, job->digest}, buffer, bytes, *job->kept_step,
                                                  job->history, job->kept.places[*job->place]);
  return wrong.empty() ? 0 : fill::fail(job->host, wrong);
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "factorize",
                                        init,
                                        record_unit,
                                        begin_unit,
                                        end_unit,
                                        save,
                                        restore,
                                        destroy,
                                        nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}
