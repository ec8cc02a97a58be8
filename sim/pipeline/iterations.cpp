// See iterations.h.
#include "sim/pipeline/iterations.h"

#include <algorithm>

namespace weft::pipeline {

bool IterationOptions::is_evaluation(int iteration) const {
  return evaluate_every > 0 && iteration % (evaluate_every + 1) == evaluate_every;
}

std::size_t IterationOptions::kind_of(int iteration) const {
  const std::size_t counts = std::max<std::size_t>(1, microbatches.size());
  if (is_evaluation(iteration)) return counts;
  const int trained = evaluate_every > 0 ? iteration - iteration / (evaluate_every + 1) : iteration;
  if (ramp_up > 0) return std::min(static_cast<std::size_t>(trained / ramp_up), counts - 1);
  return static_cast<std::size_t>(trained) % counts;
}

std::vector<Orders> kinds_of(const ScheduleOptions& schedule, const IterationOptions& iterations) {
  std::vector<Orders> kinds;
  ScheduleOptions one = schedule;
  for (const int microbatches : iterations.microbatches) {
    one.microbatches = microbatches;
    kinds.push_back(orders_of(one));
  }
  if (kinds.empty()) kinds.push_back(orders_of(schedule));
  if (iterations.evaluate_every > 0) {
    one.microbatches = iterations.evaluation_microbatches;
    kinds.push_back(forward_only(orders_of(one)));
  }
  return kinds;
}

}  // namespace weft::pipeline
