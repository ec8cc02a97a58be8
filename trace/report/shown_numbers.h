// Numbers as all parts of a report show them.
//
// Used by the files of the report, in the weft command only. Pure.
#pragma once

#include "trace/read/summary.h"

namespace weft::report {

inline double milliseconds(double nanoseconds) {
  return nanoseconds / 1e6;
}
inline double milliseconds(Duration time) {
  return milliseconds(static_cast<double>(time.count()));
}

// As in the rows of `weft summary`: the steady part of the run, where it is known.
inline PartOfRun shown_part(const RankSummary& rank) {
  return rank.steady().value_or(rank.whole());
}

}  // namespace weft::report
