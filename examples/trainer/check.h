// Ends the trainer with one line when a CUDA or NCCL call fails, as most training programs do.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace trainer {

void check(cudaError_t result, const char* call, const char* file, int line);
void check(ncclResult_t result, const char* call, const char* file, int line);
// After a kernel launch, which has no result of its own.
void check_launch();

}  // namespace trainer

#define CHECK(call) ::trainer::check((call), #call, __FILE__, __LINE__)
