// Which iterations go without fill, so that the filled ones around them can be compared, and which of those go dark:
// without fill and without being watched, to see what watching costs. Pure: a number in, a part out.
//
// Used by the Budget, Watching, the Session and through it the detector. All ranks leave out the same iterations
// without talking to each other: they count alike from where the rhythm was found.
#pragma once

#include <cstdint>

namespace weft {

enum class IterationPurpose : std::uint8_t { filled, control, dark };

// The purpose of an iteration: docs/slowdown-budget.md has the schedule.
struct Part {
  IterationPurpose purpose = IterationPurpose::filled;
  bool comparable = false;  // its neighbours have the same purpose: other ranks may be one iteration ahead or behind
  std::uint64_t run = 0;    // the turn at which the nearest run of iterations without fill begins
};
Part part_of(std::uint64_t turn);
// It goes without fill, dark or not.
inline bool is_control(std::uint64_t turn) {
  return part_of(turn).purpose != IterationPurpose::filled;
}
inline bool is_dark(std::uint64_t turn) {
  return part_of(turn).purpose == IterationPurpose::dark;
}

// Iterations with fill from one run without to the next, at most.
std::uint32_t most_between_runs();

// Of the iterations of a long run: those without fill, and the dark ones among them.
double control_share();
double dark_share();

}  // namespace weft
