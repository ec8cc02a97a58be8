// How well the hosts of a run are on one clock, in sentences.
//
// Used by `weft summary`, `weft export` and `weft report`, in the weft command only. Pure.
#pragma once

#include <string>
#include <vector>

#include "trace/clocks/run_clocks.h"

namespace weft {

// Printable. "host b is 5.012 ms ahead of host a, within 13 us, drifting 19.9 ppm (from 1,234 messages)": one for each
// clock that messages place, of many the first ones. Wall clocks, at the first message.
std::vector<std::string> clock_lines(const RunClocks& clocks);

// Likewise: what cannot be told, or is not sure. None: all ranks are of one clock, or messages place each.
std::vector<std::string> clock_notes(const RunClocks& clocks);

}  // namespace weft
