// The kernels of the matrix-product fill job. GPU code in matmul.cu, the simulated GPU's in sim_kernels.cpp.
#pragma once

#include <cuda_runtime_api.h>

namespace fill {

// Square matrices of small whole numbers that depend on the number at `seed` (device-visible), row-major.
void launch_generate(const unsigned* seed, float* a, float* b, int size, int blocks, cudaStream_t stream);
// c = a * b
void launch_product(const float* a, const float* b, float* c, int size, int blocks, cudaStream_t stream);
// Counts in `right_rows` the rows of c that are right, for the matrices that the number at `seed` stands for.
// `weighted` has room for `size` numbers. Everything is on the device but the number at `seed`.
void launch_check(const unsigned* seed, const float* c, double* weighted, unsigned* right_rows, int size, int blocks,
                  cudaStream_t stream);

}  // namespace fill
