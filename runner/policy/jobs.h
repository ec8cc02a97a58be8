// The fill jobs of a device, of which there are at most most_jobs: which one is asked first, and what their user wants
// of each.
//
// Read by the options' parser, the filler, the order of jobs and the trace. Plain values, pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/record.h"

namespace weft {

// throughput: whichever slice of any job is worth most; priority: the job with the largest; fair: the one that has had
// least, by its weight; deadline: the earliest; shortest: the one with the least work left.
enum class JobPolicy : std::uint8_t { throughput, priority, fair, deadline, shortest };
inline constexpr std::array<std::string_view, 5> job_policy_names{"throughput", "priority", "fair", "deadline",
                                                                  "shortest"};

}  // namespace weft
