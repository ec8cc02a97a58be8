// A pipeline with and without fill, by the numbers that users and tables ask for.
//
// Used by `weft simulate` and bench_policy; any thread. Equal options give equal numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/model/memory.h"
#include "runner/model/run.h"

namespace weft::model {

struct SimulationOptions {
  RunOptions run{};  // its `room` is that of the memory
  MemoryOptions memory{};
  double slowdown_budget = 0.01;
  double spin = SessionOptions{}.spin;
  std::string policy = "weft";
  std::optional<double> knob{};  // of a baseline, for its own, see docs/bench.md
};

struct Simulation {
  int ranks = 0, iterations = 0;
  double iteration_seconds = 0;  // without fill
  double idle_share = 0;         // of the time of all ranks, without fill
  double slowdown = 0;           // true: against the same pieces without fill
  double late_slowdown = 0;      // likewise, of the second half of the iterations
  double conversion = 0;         // fill work by the idle time of iterations that may be filled
  double conversion_of_all = 0;  // likewise, of all iterations
  // Of gaps by their length, see Gaps.
  std::array<double, std::tuple_size_v<decltype(Gaps::classes)>> conversion_of_class{}, share_of_class{};
  double gpu_equivalents = 0;          // that the fill work would keep busy
  double utilisation_gain = 0;         // fill work by the work of the main job
  double coverage = 0, precision = 0;  // of reported idle time
  double as_forecast = 0;              // share of the bubbles between the forecast's low and high quantile
  double spun = 0;                     // of a core, for each rank: looking without sleep
  std::uint64_t looks = 0, decisions = 0;
  int stopped = 0;                         // ranks on which filling has ended
  std::string why_stopped;                 // on the first of them
  std::optional<SlowdownRecord> reported;  // by Weft itself, see RunResult
  std::vector<JobResult> jobs;
  std::vector<StageMemory> stages;  // of a pipeline
};

// The numbers of microbatches, stages and so on of usual pipelines under this schedule. Throws std::invalid_argument
// where there is no such schedule.
pipeline::Schedule schedule_of(const std::string& name);
// A graph of stages with a branch and a join.
std::vector<std::vector<int>> branching(int stages);

// The pipeline without fill, which several policies are compared with.
RunResult without_fill(const RunOptions& options, const Progress& progress = {});

// Throws std::invalid_argument where the schedule cannot have these numbers, there is no such policy, or the training
// does not fit its GPUs. `without`: of the same options.
Simulation simulate(const RunResult& without, const SimulationOptions& options, const Progress& progress = {},
                    const TraceOf& trace_of = {});
Simulation simulate(const SimulationOptions& options, const Progress& progress = {}, const TraceOf& trace_of = {});

}  // namespace weft::model
