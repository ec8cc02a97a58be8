// Two runs held against each other: iteration time, idle time by cause, each of them over all ranks, by stage and by
// rank; and what of them is not comparable.
//
// Used by `weft diff` and by tests, never inside the training process. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "trace/compare/compared_run.h"

namespace weft {

// Of a number of both runs. `change`: as a part of the first (lengths), or the difference (shares). Nothing: one of the
// runs does not tell it, or has too few iterations for an interval.
struct Change {
  std::optional<double> first, second;
  std::optional<Interval> change;
  std::optional<double> undecided;  // the change may be either way: for so much of the time nobody could tell
};

struct ComparedPart {
  std::string name;           // "stage 1 (rank 1, 5)", "rank 3"; "" of all ranks
  bool idle_differs = false;  // also as one of all parts, of which the largest is picked
  Change length, mean, idle, uncertain, of_no_cause;
  std::array<Change, cause_names.size()> by_cause;
};

struct RunComparison {
  ComparedPart all;
  std::vector<ComparedPart> stages, ranks;  // none where the runs have other ones
  std::vector<std::string> notes;           // printable; what is not comparable, and what makes the numbers doubtful
  std::size_t cautions = 0;                 // so many of the notes, the first, stand above all else
  bool other_work = false;                  // an iteration of the one is not what it is of the other
};

// Throws std::runtime_error where both are the same run.
RunComparison compare_runs(const ComparedRun& first, const ComparedRun& second);

std::string to_text(const RunComparison& comparison, const ComparedRun& first, const ComparedRun& second);
std::string to_json(const RunComparison& comparison, const ComparedRun& first, const ComparedRun& second);

}  // namespace weft
