// The rows of the timeline get their parts: bubbles, fill work, and time that nobody knows, on one clock, with the
// messages that ended the bubbles.
//
// Used by timeline.cpp, in the weft command only. Reads the traces of the rows once more.
#pragma once

#include "trace/report/timeline.h"

namespace weft::report {

// The rows are chosen, and have measured timeline.iteration. Gives them their times and parts, and the timeline its
// length and names.
void fill_rows(const ReportedRun& run, Timeline& timeline);

}  // namespace weft::report
