// The functions of the simulated driver that the simulated CUPTI needs. Any thread.
#pragma once

#include <cuda.h>

#include "simgpu/kernels.h"

namespace simgpu::cupti {

struct Driver {
  CUresult (*stream_id)(CUstream stream, unsigned long long* id) = nullptr;
  CUresult (*context_id)(CUcontext context, unsigned long long* id) = nullptr;
  CUresult (*push)(CUcontext context) = nullptr;
  CUresult (*pop)(CUcontext* context) = nullptr;
  CUresult (*device_of_current)(CUdevice* device) = nullptr;
  const simgpu_services* services = nullptr;
};

// nullptr: there is no simulated driver in this process.
const Driver* driver();

}  // namespace simgpu::cupti
