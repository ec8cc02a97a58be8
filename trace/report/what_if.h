// How long a pipeline has to be idle by theory, beside how long it was, and what other numbers of microbatches and
// virtual stages, or a faster slowest stage, would change.
//
// Used by the report and by tests. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft::report {

struct ReportedRun;
struct Frontier;

// (p - 1) / (v m + p - 1): the share of an iteration in which a rank of a pipeline of p equal stages, each in v chunks,
// is idle with m microbatches.
double bubble_of_theory(int stages, int microbatches, int chunks);

// A pipeline of that theory cannot wait for so little of its time. `waits`: at most, with uncertain time; 0: not known.
bool is_below_theory(double waits, double theory);

// The time of an iteration in which stage s works w_s in v m equal parts: max(w) + (sum(w) - max(w)) / (v m). The stage
// that works longest sets the pace, and once each of the others works for a part alone before it or behind it.
double iteration_of_theory(const std::vector<double>& work, int microbatches, int chunks);

struct OtherShape {
  int microbatches = 0, chunks = 0;
  double bubble = 0;
};

struct WhatIf {
  std::string missing;  // why there is no theory; "": there is
  int stages = 0, chunks = 1, microbatches = 0;
  double theory = 0;
  std::optional<double> measured;  // idle share of the ranks of pipelines; of the steady part of the run
  std::vector<OtherShape> shapes;  // this one and others
  // Of the times in which the stages work (frontier.h), uncertain time being work, in nanoseconds.
  std::string stages_missing;               // why they are not known; "": they are
  double iteration = 0;                     // by the formula
  double even = 0;                          // the same work, evenly spread
  std::optional<double> like_the_next_one;  // the slowest stage as fast as the next one; nothing: ranks are missing
};

WhatIf find_what_if(const ReportedRun& run, const Frontier& frontier);

}  // namespace weft::report
