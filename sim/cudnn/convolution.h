// Convolutions of one to three spatial dimensions in float32: geometry, cost and arithmetic.
//
// operation_graph.cpp makes one from descriptors (host threads); the kernels compute it on the engine's worker threads.
// Pure: no CUDA, no state.
#ifndef SIMGPU_CUDNN_CONVOLUTION_H
#define SIMGPU_CUDNN_CONVOLUTION_H

#include <simgpu/kernels.h>

#include <array>
#include <cstdint>

namespace simgpu::cudnn {

inline constexpr int most_spatial_dimensions = 3;
using Extents = std::array<int64_t, most_spatial_dimensions>;

// Sizes and strides, in elements. Fewer spatial dimensions than three: those in front have the size 1.
struct ConvolutionTensor {
  int64_t outer, inner;  // x: batch, channels; w: filters, channels of a group; y: batch, filters
  Extents extents;
  int64_t outer_stride, inner_stride;
  Extents strides;
  float* data;

  int64_t elements() const { return outer * inner * extents[0] * extents[1] * extents[2]; }
};

struct Convolution {
  enum class Result : int { y, x, w };  // forward, backward data, backward filter

  Result result;
  ConvolutionTensor x, w, y;
  Extents stride, dilation, padding_before, padding_after;
  bool flipped;  // a convolution, not a cross correlation
  float alpha, beta;

  ConvolutionTensor& tensor(Result which) { return which == Result::y ? y : which == Result::x ? x : w; }
  int64_t groups() const { return x.inner / w.inner; }
};

// Whether the sizes of x, w and y are those of one convolution.
bool consistent(const Convolution& convolution);

// Two operations for each product of an element of y with a tap of its filter; bytes: `element_bytes` for each element
// of x, w and y, once. The same for all three directions.
simgpu_cost cost_of(const Convolution& convolution, double element_bytes);

// result = alpha * convolution + beta * result. Sums are made in float32, in an order of its own.
void compute(Convolution convolution);

}  // namespace simgpu::cudnn

#endif
