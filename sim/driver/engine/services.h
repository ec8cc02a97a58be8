// The table that cuGetExportTable(SIMGPU_SERVICES_UUID) hands to the simulated NCCL. Any thread, before cuInit too.
#pragma once

#include "simgpu/kernels.h"

namespace simgpu {

const simgpu_services& services();

}  // namespace simgpu
