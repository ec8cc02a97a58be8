// Iterations that differ: their numbers of microbatches, and evaluations between them.
//
// Used by the world of virtual time. Pure. Which kind an iteration is of follows from its number alone, so all ranks
// agree about it.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/pipeline/schedules.h"

namespace weft::pipeline {

struct IterationOptions {
  // Microbatches of the iterations that train, gone through again and again. None: always those of the schedule.
  std::vector<int> microbatches{};
  // So many iterations have each of these, and all further ones the last. 0: they are gone through again and again.
  int ramp_up = 0;
  // After so many iterations that train comes an evaluation, which is an iteration, too. 0: never.
  int evaluate_every = 0;
  int evaluation_microbatches = 8;

  bool is_evaluation(int iteration) const;
  // From 0; evaluations are the last kind.
  std::size_t kind_of(int iteration) const;
};

// The orders of all kinds of iterations. Throws as orders_of() does.
std::vector<Orders> kinds_of(const ScheduleOptions& schedule, const IterationOptions& iterations);

}  // namespace weft::pipeline
