// The memory of the fill job and the main job's need of it: what happens when an allocation has failed, and when the
// main job has taken so much that one soon might.
//
// At the hand of a thread of the main job that allocates, or of NCCL, possibly next to groups that wait for this very
// thread: all waiting is bounded.
#pragma once

#include "runner/core/device_table.h"

namespace weft {

// How long a failed allocation of the main job may wait for the memory of the reservation: far longer than a bubble,
// and short for a job that is about to get an out-of-memory error.
inline constexpr Duration rescue_limit = std::chrono::seconds(1);

// True: memory has come back, so the allocation may be tried once more.
bool rescue_memory(CoreContext& context, DeviceEntry& entry, int ordinal);

// How many bytes the main job may take before this is asked again.
std::uint64_t allow_memory(CoreContext& context, DeviceEntry& entry);

}  // namespace weft
