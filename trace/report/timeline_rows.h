// Which ranks have a row in the timeline, and in which order.
//
// Used by the files of the timeline, in the weft command only. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/report/timeline.h"

namespace weft::report {

// nullptr: the rank has not measured it.
const KeptIteration* measured_iteration(const ReportedRun& run, std::size_t trace, const IterationKey& key);

// Of `traces`, which have the iteration. Where they are too many: of each stage the rank in the middle, and the one
// that waits most if that is another one. Rows have no times and no parts yet.
std::vector<TimelineRow> choose_rows(const ReportedRun& run, const std::vector<std::size_t>& traces,
                                     const TimelineLimits& limits);

}  // namespace weft::report
