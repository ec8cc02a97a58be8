// Shared by the probes and their kernels (kernels.cu, and sim_kernels.cpp on the simulated GPU): words that the device
// writes, and counters in device memory that must be zero before a launch and are so after it. Included by device code.
//
// All times are nanoseconds of the device's clock (%globaltimer); the simulated GPU uses CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace probe {

// Written by a spinning kernel to the host's memory. `started`: all of its blocks were resident.
struct SpinWords {
  uint64_t started;
  uint64_t ended;
  uint32_t seen;       // it has seen its release word
  uint32_t timed_out;  // it ended by itself
};

// Written by a kernel that is busy for a given time: when its first block began and its last one ended. In device
// memory: a kernel that writes to the host ends later.
struct BusyWords {
  uint64_t started;
  uint64_t ended;
};

// In device memory, for the kernels alone.
struct Counters {
  uint32_t arrived;
  uint32_t left;
};

}  // namespace probe
