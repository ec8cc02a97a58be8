// Which bubbles may be filled, by what the machine has answered. Decided in marking.cpp, at set-up or after the trial
// of a fill job; obeyed by the Session and the filler. A plain value, pure.
#pragma once

#include <cstdint>

namespace weft {

// In the only queue a slice waits for what was enqueued before it, and what comes later
// waits for the slice. So there a slice may only be launched where the host waits for the GPU and has enqueued nothing
// to compute, and where the machine has answered that such a slice runs.
enum class Fillable : std::uint8_t {
  any,
  host_waits,        // one queue: the host waits, and nothing but groups and waits of streams is enqueued
  host_waits_alone,  // likewise, and no stream waits
  unasked,           // one queue: the machine has to be asked first
  nothing
};

}  // namespace weft
