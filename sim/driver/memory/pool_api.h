// Memory pools for other files. Host threads, without the engine's lock.
#pragma once

#include <cuda.h>

#include "engine/objects.h"
#include "memory/ranges.h"

namespace simgpu {

// cuMemFree of memory that came from cuMemAllocAsync.
CUresult free_pooled_now(const Range& range);

// After a synchronisation: the pools of the device give back what they hold above their release thresholds.
void trim_pools(Device& device);

}  // namespace simgpu
