// The lines of a rank on stderr: one at its start, a few at its end. Used by the core, on rank 0, and by nothing
// else.
//
// Main-job threads inside the core's services; pure: numbers in, lines out. A process knows only its own rank's
// numbers, and the lines say so; those of all ranks are for `weft summary`. The lines come without the "weft: " in
// front.
#pragma once

#include <string>
#include <vector>

#include "trace/record.h"

namespace weft {

// `traces`, `recordings`: folders of those of the rank; "": there are none.
std::string start_line(const TraceHeader& header, const std::string& traces, const std::string& recordings = "");

// At most twelve lines. `directory`: of the traces of all ranks, with a '*' in it where each has its own; "": this rank
// has none, so the folder may not even be there.
std::vector<std::string> end_lines(const TraceHeader& header, const TraceSummary& summary,
                                   const std::string& directory);

}  // namespace weft
