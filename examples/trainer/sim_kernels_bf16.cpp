// Effect and cost of the trainer's tensor-core kernels (kernels_bf16.cu) on the simulated GPU: a host-kernel library
// (see sim/include/simgpu/kernels.h). Called on the simulated driver's worker threads. Operands are rounded to bf16 as
// on a GPU; sums are float, in the order of k.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "batched_product.h"
#include "simgpu/kernels.h"

namespace {

using trainer::kernels::BatchedProduct;
using trainer::kernels::Slab;
using Launch = simgpu_launch;

// To the nearest bf16, ties to even. Not for numbers beyond the largest bf16, nor for those that are none.
float rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U);
}

template <class T>
T* slab_of(T* base, const Slab& slab, int batch, int head) {
  return base + slab.per_batch * batch + slab.per_head * head;
}

std::size_t product_of(int a, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

// rows x columns, one row after the other, rounded.
void gather(const float* from, int stride, bool transposed, int rows, int columns, std::vector<float>& to) {
  to.resize(product_of(rows, columns));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      to[product_of(row, columns) + static_cast<std::size_t>(column)] =
          rounded(transposed ? from[product_of(column, stride) + static_cast<std::size_t>(row)]
                             : from[product_of(row, stride) + static_cast<std::size_t>(column)]);
}

template <bool transpose_a, bool transpose_b>
void multiply_one(const BatchedProduct& p, const float* a, const float* b, float* c) {
  thread_local std::vector<float> left, right, sums;
  gather(a, p.a_slab.stride, transpose_a, p.m, p.k, left);
  gather(b, p.b_slab.stride, transpose_b, p.k, p.n, right);
  sums.resize(static_cast<std::size_t>(p.n));
  for (int row = 0; row < p.m; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int i = 0; i < p.k; ++i) {
      const float factor = left[product_of(row, p.k) + static_cast<std::size_t>(i)];
      const float* source = right.data() + product_of(i, p.n);
      for (int column = 0; column < p.n; ++column) sums[static_cast<std::size_t>(column)] += factor * source[column];
    }
    float* out = c + product_of(row, p.c_slab.stride);
    for (int column = 0; column < p.n; ++column) {
      const float value =
          p.scale * sums[static_cast<std::size_t>(column)] + (p.bias != nullptr ? p.bias[column] : 0.0F);
      out[column] = p.accumulate != 0 ? out[column] + value : value;
    }
  }
}

template <bool transpose_a, bool transpose_b>
void multiply(const Launch&, BatchedProduct p) {
  for (int batch = 0; batch < p.batches; ++batch)
    for (int head = 0; head < p.heads; ++head)
      multiply_one<transpose_a, transpose_b>(p, slab_of(p.a, p.a_slab, batch, head),
                                             slab_of(p.b, p.b_slab, batch, head), slab_of(p.c, p.c_slab, batch, head));
}
simgpu_cost multiply_cost(const Launch&, BatchedProduct p) {
  const double products = 1.0 * p.batches * p.heads;
  return {2.0 * products * p.m * p.n * p.k,
          products * sizeof(float) * (1.0 * p.m * p.k + 1.0 * p.k * p.n + 1.0 * p.m * p.n)};
}

void softmax(const Launch&, float* scores, int rows, int sequence) {
  for (int row = 0; row < rows; ++row) {
    float* w = scores + product_of(row, sequence);
    const int query = row % sequence;
    const float largest = *std::max_element(w, w + query + 1);
    float sum = 0;
    for (int key = 0; key <= query; ++key) sum += w[key] = std::exp(w[key] - largest);
    for (int key = 0; key < sequence; ++key) w[key] = key <= query ? w[key] / sum : 0.0F;
  }
}
simgpu_cost softmax_cost(const Launch&, float*, int rows, int sequence) {
  return {4.0 * rows * sequence, 8.0 * rows * sequence};
}

void softmax_backward(const Launch&, const float* weights, float* gradients, float scale, int rows, int sequence) {
  for (int row = 0; row < rows; ++row) {
    const float* w = weights + product_of(row, sequence);
    float* g = gradients + product_of(row, sequence);
    const int query = row % sequence;
    float sum = 0;
    for (int key = 0; key <= query; ++key) sum += w[key] * g[key];
    for (int key = 0; key < sequence; ++key) g[key] = key <= query ? w[key] * (g[key] - sum) * scale : 0.0F;
  }
}
simgpu_cost softmax_backward_cost(const Launch&, const float*, float*, float, int rows, int sequence) {
  return {5.0 * rows * sequence, 12.0 * rows * sequence};
}

constexpr uint32_t registers = 128, shared = 40960;

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<multiply<false, false>, multiply_cost>("trainer_product", registers, shared),
    simgpu::kernel<multiply<true, false>, multiply_cost>("trainer_product_ta", registers, shared),
    simgpu::kernel<multiply<false, true>, multiply_cost>("trainer_product_tb", registers, shared),
    simgpu::kernel<softmax, softmax_cost>("trainer_softmax"),
    simgpu::kernel<softmax_backward, softmax_backward_cost>("trainer_softmax_backward"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), static_cast<uint32_t>(std::size(kernel_table)),
                                  kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
