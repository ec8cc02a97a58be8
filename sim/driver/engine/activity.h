// The activities of the devices, told to the simulated CUPTI while it asks for them.
//
// The engine tells, under its lock; any thread says who listens. Nothing here may wait.
#pragma once

#include "simgpu/kernels.h"

namespace simgpu {

void set_activity_sink(simgpu_activity_sink sink);
simgpu_activity_sink activity_sink();  // nullptr: nobody listens

}  // namespace simgpu
