// Host memory that the device writes, and that our threads poll or hold copies in: ours, not the driver's.
//
// Memory of cuMemHostAlloc is unmapped when its context is destroyed or the process exits, and a thread that looks at
// it then faults. So pages are mapped here and registered with the driver. Called on a thread of the main job at set-up
// and at the end, with the device's context current; next to a spinning kernel registering may wait.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "runner/core/driver.h"

namespace weft {

// Zeroes, mapped until somebody unmaps them; a child of fork() does not have them. Throws SetUpError.
void* map_pages(std::size_t bytes);

// The device's address of the pages, for the current context and until that goes. Throws SetUpError.
CUdeviceptr register_pages(const Driver& driver, void* pages, std::size_t bytes);

// For pages that nobody looks at any more.
void give_pages_back(const Driver& driver, void* pages, std::size_t bytes) noexcept;

}  // namespace weft
