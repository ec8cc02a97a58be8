// First translation unit of device code: a kernel with a mangled name, one with a plain name, one that nobody
// simulates.
#include "kernels.h"

namespace {
constexpr int threads = 128;
dim3 blocks(int count) {
  return dim3(static_cast<unsigned>((count + threads - 1) / threads));
}
}  // namespace

__global__ void scale(float* data, float factor, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    data[i] *= factor;
  }
}

extern "C" __global__ void add_one(int* data, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    data[i] += 1;
  }
}

extern "C" __global__ void without_effect(int* data) {
  *data = 1;
}

void launch_scale(float* data, float factor, int count, cudaStream_t stream) {
  scale<<<blocks(count), threads, 0, stream>>>(data, factor, count);
}

void launch_add_one(int* data, int count, cudaStream_t stream) {
  add_one<<<blocks(count), threads, 0, stream>>>(data, count);
}

void launch_add_one_with_shape(int* data, int count, dim3 grid, dim3 block) {
  add_one<<<grid, block>>>(data, count);
}

void launch_without_effect(int* data, cudaStream_t stream) {
  without_effect<<<1, 1, 0, stream>>>(data);
}

const void* add_one_kernel() {
  return reinterpret_cast<const void*>(&add_one);
}
