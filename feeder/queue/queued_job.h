// A fill job in a queue, as its user submitted it, and the text that it is kept as.
//
// Used by the weft command, by weft-feeder and by the queues themselves. Plain values; the two functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/options/fill_plan.h"

namespace weft {

struct QueuedJob {
  JobPlan plan;  // paths are absolute; memory 0: what the rank has for a job of the queue
  std::string user, host;
  std::int64_t submitted = 0;  // seconds since 1970; a deadline counts from here
};

// One JSON object.
std::string to_text(const QueuedJob& job);
// Throws std::invalid_argument, half a sentence, where it is not one of this version.
QueuedJob parse_queued_job(std::string_view text);

// Its name in lists and traces: that of the user, or that of its file.
std::string name_of(const QueuedJob& job);

}  // namespace weft
