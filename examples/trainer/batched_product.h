// Parameters of the tensor-core product kernels, by value; shared by the GPU code, the simulated GPU's and the tests.
// No CUDA header.
#pragma once

namespace trainer::kernels {

// One of many matrices of the same shape: where it begins in the array, by number in the batch and head, and how far
// apart its rows are.
struct Slab {
  long long per_batch = 0, per_head = 0;
  int stride = 0;
};

// For every batch and head: c = scale * op(a) * op(b) (+ bias per column) (+ c when accumulate). op(a) is m x k, op(b)
// is k x n; which of them is transposed is in the kernel's name. a and b are rounded to bf16, sums are float.
struct BatchedProduct {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  int m = 0, n = 0, k = 0;
  int heads = 1, batches = 1;
  Slab a_slab, b_slab, c_slab;
  float scale = 1;
  int accumulate = 0;
};

}  // namespace trainer::kernels
