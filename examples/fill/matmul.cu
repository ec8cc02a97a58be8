// GPU code of the matrix-product fill job. See matmul.h.
//
// Grids have as many blocks as the caller says, so that a slice leaves multiprocessors free; threads stride over the
// rest.
#include "matmul.h"
#include "matmul_values.h"

extern "C" {

__global__ void fill_generate(const unsigned* seed, float* a, float* b, int size) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < size * size; i += stride) {
    a[i] = fill::value_of_a(*seed, static_cast<unsigned>(i));
    b[i] = fill::value_of_b(*seed, static_cast<unsigned>(i));
  }
}

__global__ void fill_product(const float* a, const float* b, float* c, int size) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < size * size; i += stride) {
    const int row = i / size, column = i % size;
    float sum = 0;
    for (int k = 0; k < size; ++k) sum += a[row * size + k] * b[k * size + column];
    c[i] = sum;
  }
}

// Before fill_check, which needs all of `weighted`.
__global__ void fill_weigh(const unsigned* seed, double* weighted, unsigned* right_rows, int size) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x),
            first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (first == 0) *right_rows = 0;
  for (int row = first; row < size; row += stride) weighted[row] = fill::weighted_row_of_b(*seed, row, size);
}

__global__ void fill_check(const unsigned* seed, const float* c, const double* weighted, unsigned* right_rows,
                           int size) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); row < size; row += stride)
    if (fill::row_is_right(*seed, c, weighted, row, size)) atomicAdd(right_rows, 1U);
}

}  // extern "C"

namespace fill {

constexpr int threads_per_block = 32;

void launch_generate(const unsigned* seed, float* a, float* b, int size, int blocks, cudaStream_t stream) {
  fill_generate<<<blocks, threads_per_block, 0, stream>>>(seed, a, b, size);
}

void launch_product(const float* a, const float* b, float* c, int size, int blocks, cudaStream_t stream) {
  fill_product<<<blocks, threads_per_block, 0, stream>>>(a, b, c, size);
}

void launch_check(const unsigned* seed, const float* c, double* weighted, unsigned* right_rows, int size, int blocks,
                  cudaStream_t stream) {
  fill_weigh<<<blocks, threads_per_block, 0, stream>>>(seed, weighted, right_rows, size);
  fill_check<<<blocks, threads_per_block, 0, stream>>>(seed, c, weighted, right_rows, size);
}

}  // namespace fill
