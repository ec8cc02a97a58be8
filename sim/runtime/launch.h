// The runtime's launch, shared by the API and by the code that nvcc generates. Called on the application's thread.
#pragma once

#include <cuda_runtime_api.h>

#include "driver.h"

namespace simgpu {

// Refuses shapes that no device takes, which the runtime reports as a configuration error and the driver as an invalid
// value.
cudaError_t check_shape(dim3 grid, dim3 block);

cudaError_t launch(const Driver& table, DefaultStream mode, CUkernel kernel, dim3 grid, dim3 block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream, bool cooperative);

}  // namespace simgpu
