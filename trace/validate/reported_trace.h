// A trace as times alone, to be held against the truth. Used by the validation in the command, and tests.
#pragma once

#include <cstdint>
#include <string>

#include "trace/validate/comparison.h"

namespace weft {

struct ReportedTrace {
  Reported reported;
  bool ended = false;               // the last segment has a summary; without one it ends with its last bubble
  bool limited = false;             // it has reached WEFT_TRACE_LIMIT
  std::uint64_t dropped = 0;        // records that Weft dropped
  std::uint64_t empty_windows = 0;  // segments with a summary in which Weft saw no group
};

// Throws as read_trace().
ReportedTrace read_reported(const std::string& path);

}  // namespace weft
