// Which iterations go without fill, so that the filled ones around them can be compared. Pure: a number in, a part out.
//
// Used by the Budget and the Session. All ranks leave out the same iterations without talking to each other: they count
// alike from where the rhythm was found.
#pragma once

#include <cstdint>

namespace weft {

// The purpose of an iteration: docs/slowdown-budget.md has the schedule.
struct Part {
  bool control = false;     // goes without fill
  bool comparable = false;  // its neighbours are of its own kind: other ranks may be one iteration ahead or behind
  std::uint64_t run = 0;    // the turn at which the nearest run of iterations without fill begins
};
Part part_of(std::uint64_t turn);
inline bool is_control(std::uint64_t turn) {
  return part_of(turn).control;
}

// Iterations with fill from one run without to the next, at most.
std::uint32_t most_between_runs();

// Of the iterations of a long run.
double control_share();

}  // namespace weft
