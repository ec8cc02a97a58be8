// Second translation unit of device code, with a variable and a parameter passed by value.
#include "kernels.h"

__device__ int table[table_size];

extern "C" __global__ void append(int* journal, int value) {
  journal[0] += 1;
  journal[journal[0]] = value;
}

extern "C" __global__ void spend(double flops) {
  if (flops < 0) {
    table[0] = 1;
  }
}

extern "C" __global__ void product(double* out, Pair pair) {
  *out = pair.first * pair.second;
}

void launch_append(int* journal, int value, cudaStream_t stream) {
  append<<<1, 1, 0, stream>>>(journal, value);
}

namespace {
int append_and_add_one(int* journal, int value) {
  append<<<1, 1>>>(journal, value);
  return value + 1;
}
}  // namespace

void launch_append_nested(int* journal) {
  append<<<1, 1>>>(journal, append_and_add_one(journal, 1));
}

void launch_spend(double flops, cudaStream_t stream) {
  spend<<<1, 32, 0, stream>>>(flops);
}

void launch_product(double* out, Pair pair, cudaStream_t stream) {
  product<<<1, 1, 0, stream>>>(out, pair);
}

const void* append_kernel() {
  return reinterpret_cast<const void*>(&append);
}

const void* table_symbol() {
  return static_cast<const void*>(table);
}
