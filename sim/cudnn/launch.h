// Launching the kernels of this library: one per operation, on the stream of the handle.
//
// Called by the api files on the program's threads.
#ifndef SIMGPU_CUDNN_LAUNCH_H
#define SIMGPU_CUDNN_LAUNCH_H

#include "batch_norm.h"
#include "convolution.h"
#include "driver.h"
#include "numbers.h"

// cudnnHandle_t points at one. As with the real library, one thread at a time uses it.
struct cudnnContext {
  CUstream stream = nullptr;
};

namespace simgpu::cudnn {

// `elements`: of the largest tensor; one thread block for cudnn_elements_per_block of them, cudnn_most_blocks at most.
// Statuses: of the kind EXECUTION_FAILED when the driver refuses.
Status launch(const cudnnContext& handle, const Convolution& convolution, simgpu_cost cost, int64_t elements);
Status launch(const cudnnContext& handle, const BatchNorm& norm, simgpu_cost cost, int64_t elements);
// A kernel without effect. `name`: one of those below.
Status launch_time_only(const cudnnContext& handle, const char* name, simgpu_cost cost, int64_t elements);

inline constexpr const char* convolution_without_effect = "cudnn_convolution_time_only";
inline constexpr const char* batch_norm_without_effect = "cudnn_batch_norm_time_only";
inline constexpr const char* operations_without_effect = "cudnn_operations_time_only";

}  // namespace simgpu::cudnn

#endif
