// The estimate of an observed run: the traces of its ranks are read once, and their bubbles go through an estimate for
// each job and slowdown budget that is asked about.
//
// Used by `weft estimate` and `weft report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/job_lengths.h"
#include "runner/model/estimate.h"
#include "trace/read/file_totals.h"

namespace weft::cli {

// With fewer there is little to estimate from: nothing is filled in the first ones, and little is known of forecasts.
inline constexpr std::uint64_t few_iterations = 20;

struct Case {
  std::size_t job = 0;  // index
  double slowdown_budget = 0.01;
};

// Of a rank under one case. Shares are of a day that is as the steady part of its run was, where the trace tells that
// from start-up. Of that day, fewer iterations go without fill for comparison than at the beginning of a run.
struct RankEstimate {
  model::Estimate counted;
  double conversion = 0;    // of its idle time
  double filled_share = 0;  // of the time
  double delay_share = 0;   // likewise: the most by which its own slices would have delayed the training
};

struct EstimatedRun {
  struct Rank {
    std::string name;  // printable
    double idle_share = 0;
    std::uint64_t iterations = 0;     // that were read
    bool has_all_bubbles = true;      // of its run; else the rest is taken to be like those that were read
    std::vector<RankEstimate> cases;  // as they were asked for
  };
  std::vector<Rank> ranks;         // those that can be estimated
  std::vector<std::string> notes;  // printable; what a reader should know
};

// A trace that was added up before.
struct AddedUpTrace {
  std::string path;
  const RankSummary* rank = nullptr;
  bool is_limited = false;  // it has reached WEFT_TRACE_LIMIT
};

// Of these alone, with notes on them alone; ranks that cannot be estimated are left out. Several are read at a time.
EstimatedRun estimate_traces(const std::vector<AddedUpTrace>& traces, const std::vector<JobLengths>& jobs,
                             const std::vector<Case>& cases, Duration slice);

// Throws std::runtime_error, one line, where there is nothing to estimate from.
EstimatedRun estimate_run(const std::vector<std::string>& directories, const std::vector<JobLengths>& jobs,
                          const std::vector<Case>& cases, Duration slice);

}  // namespace weft::cli
