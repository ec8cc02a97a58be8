// The estimate of an observed rank: how much of its bubbles would have been filled, and at which cost, as far as its
// trace tells. The planner and the budget are Weft's own, the bubbles are those that were seen.
//
// Used by `weft estimate`, one object for each rank. Pure, one thread. The trace tells how long the training waited
// without fill. So where a slice outlasts its bubble, the training is taken to wait for all the rest of it, and no
// later bubble becomes shorter for that: `delay` is the most that this rank's slices can cost, whatever other ranks do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "runner/model/dispatcher_times.h"
#include "runner/model/executor.h"
#include "runner/policy/budget.h"
#include "runner/policy/planner.h"
#include "trace/record.h"

namespace weft::model {

struct EstimateOptions {
  Duration poll{50'000};  // WEFT_POLL
  double slowdown_budget = 0.01;
  DispatcherTimes dispatcher{};
};

struct Estimate {
  std::uint64_t bubbles = 0, filled_bubbles = 0, slices = 0, units = 0;
  Duration idle{};      // in all bubbles of iterations
  Duration left_out{};  // part of it, in iterations that would go without fill, for comparison
  Duration filled{};    // part of it, in which slices would have run
  Duration delay{};
  std::array<std::uint64_t, unfilled_reasons> unfilled{};  // bubbles, by Unfilled
};

class EstimatedRank {
 public:
  // The jobs outlive the rank; each slice is of the one that is worth most.
  EstimatedRank(const std::deque<Job>& jobs, const EstimateOptions& options);

  // In the order of the trace: bubbles before the iteration that they belong to.
  void add(const Bubble& bubble);
  void add(const Iteration& iteration);

  const Estimate& result() const { return result_; }

 private:
  bool fill(const Bubble& bubble);
  bool had_room(const Bubble& bubble);
  bool launch_all(const Bubble& bubble, TimePoint seen, TimePoint& now, Decision& last);
  void count(Unfilled reason) { ++result_.unfilled[static_cast<std::size_t>(reason)]; }

  const EstimateOptions options_;
  PlannerOptions planner_;
  Budget budget_;
  Executor stream_;
  Estimate result_;
  Duration delay_{};  // since the last iteration was over
  std::uint64_t rhythm_ = 0, since_found_ = 0, last_iteration_ = 0;
  std::vector<SliceRecord> finished_;
};

}  // namespace weft::model
