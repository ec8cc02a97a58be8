// Time as the simulated GPU keeps it: CLOCK_MONOTONIC, in nanoseconds, the same for every process of the machine.
// Used by every file of the driver. Logical times of events are values of this clock too: see engine.h.
#pragma once

#include <chrono>
#include <cstdint>

namespace simgpu {

using Clock = std::chrono::steady_clock;
using Time = std::chrono::time_point<Clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

inline Time now() {
  return Clock::now();
}
inline int64_t nanoseconds(Time time) {
  return time.time_since_epoch().count();
}
inline Time from_nanoseconds(int64_t count) {
  return Time(Duration(count));
}

}  // namespace simgpu
