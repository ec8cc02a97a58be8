// See changes.h.
#include "bench/policy/changes.h"

#include <cstdio>
#include <string>
#include <vector>

#include "bench/policy/cases.h"

namespace weft::bench {
namespace {

using model::Simulation;
using std::chrono::milliseconds;

struct Row {
  std::string training;
  Case one;
};

// 8 stages. The first three evaluations of a run cost what is known of its rhythm. Where they come every 10 iterations
// these are in the warm-up.
Case plain(const TableOptions& table, const char* schedule) {
  Case made = case_of(table, schedule, 8);
  made.options.run.warm_up = 40;
  made.options.run.world.schedule.microbatches = 16;
  made.options.run.world.iterations = 240;
  return made;
}

template <class Change>
void add(std::vector<Row>& rows, const TableOptions& table, const char* schedule, const std::string& training,
         Change change) {
  Row row{training, plain(table, schedule)};
  change(row.one.options);
  rows.push_back(row);
}

std::vector<Row> rows_of(const TableOptions& table) {
  std::vector<Row> rows;
  for (const char* const schedule : {"1f1b", "interleaved", "zb-v"}) {
    const auto with = [&](const std::string& training, auto change) {
      add(rows, table, schedule, training, [&](model::SimulationOptions& options) { change(options.run.world); });
    };
    with("16 microbatches", [](pipeline::WorldOptions&) {});
    with("evaluation every 10 iterations", [](pipeline::WorldOptions& world) {
      world.kinds.evaluate_every = 10;
      world.kinds.evaluation_microbatches = 16;
    });
    with("evaluation every 50 iterations", [](pipeline::WorldOptions& world) {
      world.kinds.evaluate_every = 50;
      world.kinds.evaluation_microbatches = 16;
    });
    with("8 and 24 microbatches in turn", [](pipeline::WorldOptions& world) { world.kinds.microbatches = {8, 24}; });
    with("8, 16, 24, 32 microbatches, 60 iterations each", [](pipeline::WorldOptions& world) {
      world.kinds.microbatches = {8, 16, 24, 32};
      world.kinds.ramp_up = 60;
    });
    with("checkpoint of 0.5 s every 10 iterations", [](pipeline::WorldOptions& world) {
      world.changes.push_back({.first = 10, .count = world.iterations, .every = 10, .stall = milliseconds(500)});
    });
    with("evaluation, checkpoint, 8 and 24 microbatches", [](pipeline::WorldOptions& world) {
      world.kinds = {.microbatches = {8, 24}, .evaluate_every = 10, .evaluation_microbatches = 16};
      world.changes.push_back({.first = 10, .count = world.iterations, .every = 10, .stall = milliseconds(500)});
    });
  }
  for (const double gigabytes : {50, 25, 12, 8})
    add(rows, table, "pipeoffload", "copies at " + std::to_string(static_cast<int>(gigabytes)) + " GB/s",
        [&](model::SimulationOptions& options) { options.run.world.activations.offload_bandwidth = gigabytes * 1e9; });
  return rows;
}

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1ULL << 30);
}

}  // namespace

void print_changes(const TableOptions& options) {
  const std::vector<Row> rows = rows_of(options);
  std::vector<Case> cases;
  for (const Row& row : rows) cases.push_back(row.one);
  const std::vector<Simulation> results = simulate_all(cases, options.threads);
  std::printf(
      "| schedule | iterations | mean | idle | reported | filled | with control iterations | slowdown | 80 %% "
      "intervals "
      "hold | activations, first and last stage |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Simulation& result = results[i];
    std::printf("| %s | %s | %.3f s | %.1f %% | %.3f | %.3f | %.3f | %+.3f %% | %.2f | %.1f, %.1f GiB |\n",
                cases[i].schedule.c_str(), rows[i].training.c_str(), result.iteration_seconds, 100 * result.idle_share,
                result.coverage, result.conversion, result.conversion_of_all, 100 * result.slowdown, result.as_forecast,
                gibibytes(result.stages.front().activations), gibibytes(result.stages.back().activations));
  }
}

}  // namespace weft::bench
