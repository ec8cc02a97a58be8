// A whole pipeline in virtual time, with a policy on each rank: what it fills, and what that costs the main job.
//
// Used by `weft simulate`, the benchmark of policies and tests. Pipelines run on several threads where the world is to
// have several; equal options give equal numbers on any number of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/model/rank.h"
#include "sim/pipeline/world.h"
#include "trace/record.h"

namespace weft::model {

struct JobOptions {
  std::vector<Duration> kernels = std::vector<Duration>(400, Duration{25'000});  // of a unit
  JobTerms terms{};
  std::uint64_t memory = 0;  // bytes
  Duration arrives{};        // since the begin
  // Of a job with variants: the name of this one, and smaller ones, each smaller than the one before.
  std::string variant{};
  std::vector<VariantOptions> smaller{};
};

// The end of a job, or how far it got, on all ranks together.
struct JobResult {
  std::uint64_t units = 0;
  Duration filled{};
  std::string variant;  // the latest; several_variants: that of ranks differs; "": it has none
  TimePoint arrived{};
  std::optional<TimePoint> began;  // the first slice of any rank was launched; nothing: none was
  std::optional<TimePoint> ended;  // the last rank that has room has done its units; nothing: some have not
};

struct RunOptions {
  pipeline::WorldOptions world{};
  std::vector<JobOptions> jobs{JobOptions{}};  // at most most_jobs, in the order in which they arrive
  std::vector<std::uint64_t> room{};  // bytes for the jobs, by place in the pipeline; none: as much as they want
  JobPolicy job_policy = JobPolicy::throughput;
  std::vector<Duration> slices{Duration{25'000}, Duration{75'000}, Duration{300'000}};
  DispatcherTimes dispatcher{};
  int warm_up = 0;  // first iterations that count for nothing
};

struct RunResult {
  Duration length{};  // of the iterations that count
  Duration late{};    // of the second half of these
  int iterations = 0, ranks = 0;
  Gaps gaps;                                           // of all ranks, likewise
  Gaps left_out;                                       // of iterations that go without fill
  Duration beside{};                                   // fill work outside gaps, where it shares the GPU
  Duration true_idle{}, reported_idle{}, both_idle{};  // in all iterations
  std::uint64_t forecast = 0, as_forecast = 0;         // bubbles, see RankRecords
  double spun_share = 0;  // of all time, the mean of the ranks: Weft's thread looked without sleep
  std::vector<std::uint64_t> most_activations;  // bytes at any time, by place in the pipeline
  std::uint64_t looks = 0, decisions = 0;
  int stopped = 0;                         // ranks on which filling has ended
  std::string why_stopped;                 // on the first of them
  std::optional<SlowdownRecord> reported;  // at the end, as rank 0 has it in its summary; nothing: it knows none
  std::vector<JobResult> jobs;
};

// A policy for each rank; nullptr: nothing is filled.
using MakePolicy = std::function<std::unique_ptr<Policy>(const pipeline::World& world, int rank, RecordSink& records)>;
// Where the records of a rank go besides; of each rank by one thread at a time.
class RankTrace : public RecordSink {
 public:
  virtual void finish(const TraceSummary& summary) = 0;
};
using TraceOf = std::function<RankTrace*(int rank)>;  // may be empty
// Told now and then, by one thread at a time: so many iterations are over.
using Progress = std::function<void(int iterations)>;

// Throws std::invalid_argument where jobs are not in the order of their arrivals.
RunResult run(const RunOptions& options, const MakePolicy& make_policy, const Progress& progress = {},
              const TraceOf& trace_of = {});

}  // namespace weft::model
