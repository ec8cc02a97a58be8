// The device code of the tests, as the tests call it: launches with <<<>>> and the addresses of kernels. Implemented in
// two translation units, so that the program carries two fat binaries.
#pragma once

#include <cuda_runtime_api.h>

// data[i] *= factor for i < count
void launch_scale(float* data, float factor, int count, cudaStream_t stream);
// data[i] += 1 for i < count
void launch_add_one(int* data, int count, cudaStream_t stream);
// journal[0] is a count n; journal[++n] = value
void launch_append(int* journal, int value, cudaStream_t stream);
// The same for 2, with an argument whose evaluation launches the same for 1
void launch_append_nested(int* journal);
// Takes its time and writes nothing
void launch_spend(double flops, cudaStream_t stream);
// A kernel that no host-kernel library knows
void launch_without_effect(int* data, cudaStream_t stream);

struct Pair {
  int first;
  double second;
};
// *out = pair.first * pair.second
void launch_product(double* out, Pair pair, cudaStream_t stream);
// Launches with a shape that the runtime must refuse
void launch_add_one_with_shape(int* data, int count, dim3 grid, dim3 block);

const void* add_one_kernel();
const void* append_kernel();

// A __device__ variable of ints
const void* table_symbol();
constexpr int table_size = 16;
