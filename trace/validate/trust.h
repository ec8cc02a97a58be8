// How far a truth file and the trace beside it can be trusted: what is missing in them, as notes and as doubts of the
// rank. Used by run_validation.cpp only.
#pragma once

#include <string>

#include "trace/validate/reported_trace.h"
#include "trace/validate/run_validation.h"
#include "trace/validate/truth_file.h"

namespace weft {

// "" where the two can be compared, or why not.
std::string why_nothing(const TruthFile& truth, int device);
// Why truth or trace cannot be trusted: the comparison's numbers are shown, and bounds mean nothing.
void doubt_what_is_missing(const TruthFile& truth, const ReportedTrace& trace, RankValidation& rank);
void note_what_is_missing(const TruthFile& truth, const ReportedTrace& trace, RankValidation& rank);
// When the truth is known. After the last record it is not; a note says so where that is long before the window's end.
Span known_to_the_last_record(const TruthFile& truth, const DeviceTruth& device, const Reported& reported,
                              RankValidation& rank);

}  // namespace weft
