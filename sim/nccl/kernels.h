// The spin kernels of the simulated NCCL: their names, and the plans that launched ones work on.
// register_kernels() and the plan registry are for host threads; the step function is the engine's.
#ifndef SIMGPU_NCCL_KERNELS_H
#define SIMGPU_NCCL_KERNELS_H

#include <cuda.h>

#include <memory>
#include <string>

#include "endpoint.h"

namespace simgpu::nccl {

// The name of the kernel that runs a plan; the string is never freed.
const char* kernel_name(const Plan& plan);

// Makes all kernels known to the driver and loads them into the current context, as the real NCCL does when a
// communicator is made: the first launch is then nothing special.
ncclResult_t load_kernels();
ncclResult_t function_of(const char* name, CUfunction* function);

// A plan with the endpoint it belongs to. A kernel has its number as its only parameter, so that a graph that is
// launched after its communicator is gone finds nothing instead of freed memory.
struct LaunchedPlan {
  std::shared_ptr<Endpoint> endpoint;
  Plan plan;
  bool spin_logged = false;
};

uint64_t add_plan(std::shared_ptr<LaunchedPlan> plan);
void remove_plan(uint64_t number);

}  // namespace simgpu::nccl

#endif
