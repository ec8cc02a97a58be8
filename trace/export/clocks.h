// One clock for all ranks of a run. Ranks of one boot have the same clock, their time namespaces aside; those of other
// hosts are put beside it by their wall clocks.
//
// Used by exported_run.cpp, in the weft command only. Pure.
#pragma once

#include <string>
#include <vector>

#include "trace/record.h"

namespace weft {

struct CommonClock {
  std::vector<Duration> shifts;    // of each header: to be added to its times
  std::vector<std::string> notes;  // printable; how far they can be wrong; none: all ranks share one clock
};

// On the clock of the first one, outside of any time namespace.
CommonClock common_clock(const std::vector<TraceHeader>& headers);

}  // namespace weft
