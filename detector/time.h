// Time as all of Weft writes it: nanoseconds of one clock. The values only; who may read the clock is said elsewhere.
//
// Included by everything that holds a length or a point of time, in the training process and in the command.
#pragma once

#include <chrono>

namespace weft {

struct MonotonicClock {};  // CLOCK_MONOTONIC of the machine; read by the shim and the runner, never by the detector
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<MonotonicClock, Duration>;

}  // namespace weft
