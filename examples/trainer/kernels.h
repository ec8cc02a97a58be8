// The kernels of the trainer, as host functions that launch them. Row-major float matrices, pointers to device memory.
//
// Called by model.cpp on the thread that trains. Each launch goes to the given stream; results do not depend on timing:
// no atomics, a fixed order of additions. kernels.cu and kernels_bf16.cu hold the GPU code, sim_kernels*.cpp what the
// simulated GPU does.
#pragma once

#include <cuda_runtime_api.h>

#include "adam_settings.h"
#include "batched_product.h"

namespace trainer::kernels {

// Load the GPU code: a late load would wait for the GPU to be idle, and next to a receive that is posted it never is.
void load();
void load_bf16();

// c = op(a) * op(b) (+ bias per column) (+ c when accumulate); op(a) is m x k, op(b) is k x n; bias may be null.
struct Product {
  const float* a;
  const float* b;
  const float* bias;
  float* c;
  int m, n, k;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
};
void multiply(const Product& product, cudaStream_t stream);
// The same on tensor cores, with a and b rounded to bf16; not with both transposed. Large shapes keep a whole GPU busy.
void multiply_bf16(const Product& product, cudaStream_t stream);
void multiply_bf16(const BatchedProduct& product, bool transpose_a, bool transpose_b, cudaStream_t stream);

// out[column] += sum over rows of in[row][column]
void add_column_sums(const float* in, float* out, int rows, int columns, cudaStream_t stream);
// out = a + b, element by element
void add(const float* a, const float* b, float* out, int count, cudaStream_t stream);

// out[token] = table[tokens[token]] + positions[token % sequence]
void embed(const int* tokens, const float* table, const float* positions, float* out, int count, int sequence,
           int hidden, cudaStream_t stream);
// Adds the gradients of table and positions.
void embed_backward(const int* tokens, const float* gradient, float* table, float* positions, int count, int sequence,
                    int hidden, int vocabulary, cudaStream_t stream);

void normalize(const float* in, const float* gamma, const float* beta, float* out, float* mean, float* deviation,
               int rows, int columns, cudaStream_t stream);
// in_gradient = residual + the gradient that comes back through the normalisation
void normalize_backward(const float* gradient, const float* in, const float* gamma, const float* mean,
                        const float* deviation, const float* residual, float* in_gradient, int rows, int columns,
                        cudaStream_t stream);
void normalize_parameters(const float* gradient, const float* in, const float* mean, const float* deviation,
                          float* gamma, float* beta, int rows, int columns, cudaStream_t stream);

void gelu(const float* in, float* out, int count, cudaStream_t stream);
void gelu_backward(const float* in, const float* gradient, float* in_gradient, int count, cudaStream_t stream);

struct Attention {
  int batch, heads, sequence, hidden;
};
// qkv: tokens x 3*hidden; weights: batch x heads x sequence x sequence; out: tokens x hidden. Causal.
void attend(const float* qkv, float* weights, float* out, const Attention& shape, cudaStream_t stream);
// scores: scratch of the size of weights.
void attend_backward(const float* qkv, const float* weights, const float* gradient, float* scores, float* qkv_gradient,
                     const Attention& shape, cudaStream_t stream);
// The same with its products on tensor cores.
void attend_bf16(const float* qkv, float* weights, float* out, const Attention& shape, cudaStream_t stream);
void attend_backward_bf16(const float* qkv, const float* weights, const float* gradient, float* scores,
                          float* qkv_gradient, const Attention& shape, cudaStream_t stream);

// loss[row] = -log softmax(logits[row])[targets[row]]; logits become their gradient, times scale
void cross_entropy(float* logits, const int* targets, float* loss, float scale, int rows, int columns,
                   cudaStream_t stream);
// out += scale * sum of in
void add_sum(const float* in, float* out, float scale, int count, cudaStream_t stream);
// out = sum of the squares of in; scratch: partial_sums floats
inline constexpr int partial_sums = 128;
void square_sum(const float* in, float* scratch, float* out, int count, cudaStream_t stream);

// square_sum: device pointer to the squared norm of the whole model's gradient
void adam(float* parameters, const float* gradients, float* first, float* second, const float* square_sum,
          const Adam& settings, int count, cudaStream_t stream);

// *count = value, in host memory that other processes see; after all work that is on the stream so far
void publish(unsigned long long* count, unsigned long long value, cudaStream_t stream);

}  // namespace trainer::kernels
