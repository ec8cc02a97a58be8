// The kernels of the matrix-product fill job. GPU code in matmul.cu, the simulated GPU's in sim_kernels.cpp.
#pragma once

#include <cuda_runtime_api.h>

namespace fill {

// Square matrices of small whole numbers that depend on the number at `seed` (device-visible), row-major.
void launch_generate(const unsigned* seed, float* a, float* b, int size, int blocks, cudaStream_t stream);
// c = a * b
void launch_product(const float* a, const float* b, float* c, int size, int blocks, cudaStream_t stream);

}  // namespace fill
