// Allocations that belong to a context: entering them into the map of ranges, giving them back, and what happens to
// them when the context goes. Called by the memory API on host threads, without the engine's lock.
#pragma once

#include <cuda.h>

#include "engine/objects.h"
#include "memory/ranges.h"

namespace simgpu {

// Counts one allocation (faults on request) and charges the device. False: answer CUDA_ERROR_OUT_OF_MEMORY.
bool charge(Device& device, std::size_t bytes);

// False (nothing kept) when it overlaps another range.
bool enter(Context& context, Range range);

// The contents of a range that has been taken out of the map: its pages and its device memory.
void discard(const Range& range);

Device& device_of(const Range& range);

// Called when a context is destroyed or reset: gives back its plain and host allocations.
void release_context_memory(Context& context);

}  // namespace simgpu
