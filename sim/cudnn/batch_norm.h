// Batch normalisation in float32: one mean and one variance for each channel. Cost and arithmetic.
//
// api_batch_norm.cpp makes one from a call (host threads); the kernels compute it on the engine's worker threads. Pure:
// no CUDA, no state.
#ifndef SIMGPU_CUDNN_BATCH_NORM_H
#define SIMGPU_CUDNN_BATCH_NORM_H

#include <simgpu/kernels.h>

#include <array>
#include <cstdint>

namespace simgpu::cudnn {

// Batch, channels, and up to three spatial dimensions; strides in elements.
struct BatchNormTensor {
  std::array<int64_t, 5> strides;
  float* data;
};

struct BatchNorm {
  enum class Pass : int { training, inference, backward };

  Pass pass;
  std::array<int64_t, 5> sizes;
  BatchNormTensor x, y;  // backward: y is dy
  BatchNormTensor dx;    // backward only
  const float *scale, *bias;
  // Training: updated, or null. Inference: read.
  float *running_mean, *running_variance;
  // Training: written, or null. Backward: read, or null: computed again.
  float *saved_mean, *saved_inverse_deviation;
  float *scale_gradient, *bias_gradient;  // backward only
  double factor;                          // of the new mean and variance in the running ones
  double epsilon;
  float alpha, beta;                      // result = alpha * value + beta * result
  float parameter_alpha, parameter_beta;  // the same for the gradients of scale and bias

  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; }
};

// Operations and bytes for each element of x: 5 and two reads with a write in training, 10 and four reads with a write
// in the backward pass, 2 and a read with a write in inference.
simgpu_cost cost_of(const BatchNorm& norm, double element_bytes);

void compute(const BatchNorm& norm);

}  // namespace simgpu::cudnn

#endif
