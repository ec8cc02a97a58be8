// See the header.
#include "convolution.h"

#include <algorithm>

namespace simgpu::cudnn {
namespace {

constexpr int last = most_spatial_dimensions - 1;

// One tap of one filter along the last dimension: `count` elements of y, each with an element of x.
struct Row {
  int64_t count;
  float *x, *y, *w;
  int64_t x_step, y_step;
};

// to[i] += factor * from[i]. Elements next to each other are the usual case, and faster where the compiler knows it.
void add(int64_t count, float factor, const float* from, int64_t from_step, float* to, int64_t to_step) {
  if (from_step == 1 && to_step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] += factor * from[i * from_step];
  }
}

void forward(const Row& row, float alpha) {
  add(row.count, alpha * *row.w, row.x, row.x_step, row.y, row.y_step);
}

void backward_data(const Row& row, float alpha) {
  add(row.count, alpha * *row.w, row.y, row.y_step, row.x, row.x_step);
}

// Four sums, so that one does not wait for the other.
void backward_filter(const Row& row, float alpha) {
  float sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= row.count; i += 4)
    for (int64_t k = 0; k < 4; ++k) sums[k] += row.x[(i + k) * row.x_step] * row.y[(i + k) * row.y_step];
  for (; i < row.count; ++i) sums[0] += row.x[i * row.x_step] * row.y[i * row.y_step];
  *row.w += alpha * (sums[0] + sums[1] + (sums[2] + sums[3]));
}

void scale(ConvolutionTensor& tensor, float factor) {
  for (int64_t outer = 0; outer < tensor.outer; ++outer)
    for (int64_t inner = 0; inner < tensor.inner; ++inner)
      for (int64_t d = 0; d < tensor.extents[0]; ++d)
        for (int64_t h = 0; h < tensor.extents[1]; ++h)
          for (int64_t w = 0; w < tensor.extents[2]; ++w) {
            float& element = tensor.data[outer * tensor.outer_stride + inner * tensor.inner_stride +
                                         d * tensor.strides[0] + h * tensor.strides[1] + w * tensor.strides[2]];
            element = factor == 0 ? 0 : factor * element;  // what was there may be no number
          }
}

// Where in x the tap `tap` of the element `at` of y lies, along one dimension; may be outside.
int64_t position(const Convolution& c, int dimension, int64_t at, int64_t tap) {
  return at * c.stride[dimension] + tap * c.dilation[dimension] - c.padding_before[dimension];
}

// All taps of one channel of one filter, for one row of y.
template <auto operation>
void taps(const Convolution& c, float* x, float* w, float* y, int64_t d, int64_t h) {
  for (int64_t fd = 0; fd < c.w.extents[0]; ++fd) {
    const int64_t xd = position(c, 0, d, fd);
    if (xd < 0 || xd >= c.x.extents[0]) continue;
    for (int64_t fh = 0; fh < c.w.extents[1]; ++fh) {
      const int64_t xh = position(c, 1, h, fh);
      if (xh < 0 || xh >= c.x.extents[1]) continue;
      for (int64_t fw = 0; fw < c.w.extents[last]; ++fw) {
        const int64_t stride = c.stride[last], offset = position(c, last, 0, fw);
        const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
        const int64_t end = std::min(c.y.extents[last], (c.x.extents[last] - 1 - offset + stride) / stride);
        if (c.x.extents[last] <= offset || begin >= end) continue;
        const auto tap = [&](int dimension, int64_t index) {
          return (c.flipped ? c.w.extents[dimension] - 1 - index : index) * c.w.strides[dimension];
        };
        operation(
            {end - begin, x + xd * c.x.strides[0] + xh * c.x.strides[1] + (begin * stride + offset) * c.x.strides[last],
             y + begin * c.y.strides[last], w + tap(0, fd) + tap(1, fh) + tap(last, fw), stride * c.x.strides[last],
             c.y.strides[last]},
            c.alpha);
      }
    }
  }
}

template <auto operation>
void all(const Convolution& c) {
  const int64_t filters_per_group = c.w.outer / c.groups();
  for (int64_t batch = 0; batch < c.y.outer; ++batch)
    for (int64_t filter = 0; filter < c.w.outer; ++filter)
      for (int64_t channel = 0; channel < c.w.inner; ++channel) {
        const int64_t x_channel = filter / filters_per_group * c.w.inner + channel;
        float* x = c.x.data + batch * c.x.outer_stride + x_channel * c.x.inner_stride;
        float* w = c.w.data + filter * c.w.outer_stride + channel * c.w.inner_stride;
        float* y = c.y.data + batch * c.y.outer_stride + filter * c.y.inner_stride;
        for (int64_t d = 0; d < c.y.extents[0]; ++d)
          for (int64_t h = 0; h < c.y.extents[1]; ++h)
            taps<operation>(c, x, w, y + d * c.y.strides[0] + h * c.y.strides[1], d, h);
      }
}

}  // namespace

bool consistent(const Convolution& c) {
  const auto positive = [](const ConvolutionTensor& tensor) {
    return tensor.outer > 0 && tensor.inner > 0 &&
           std::all_of(tensor.extents.begin(), tensor.extents.end(), [](int64_t extent) { return extent > 0; });
  };
  if (!positive(c.x) || !positive(c.w) || !positive(c.y)) return false;
  if (c.x.outer != c.y.outer || c.w.outer != c.y.inner || c.x.inner % c.w.inner != 0 || c.w.outer % c.groups() != 0)
    return false;
  for (int i = 0; i < most_spatial_dimensions; ++i) {
    if (c.stride[i] < 1 || c.dilation[i] < 1 || c.padding_before[i] < 0 || c.padding_after[i] < 0) return false;
    const int64_t room =
        c.x.extents[i] + c.padding_before[i] + c.padding_after[i] - (c.w.extents[i] - 1) * c.dilation[i] - 1;
    if (room < 0 || c.y.extents[i] != room / c.stride[i] + 1) return false;
  }
  return true;
}

simgpu_cost cost_of(const Convolution& c, double element_bytes) {
  const auto taps = static_cast<double>(c.w.inner * c.w.extents[0] * c.w.extents[1] * c.w.extents[2]);
  const auto elements = static_cast<double>(c.x.elements() + c.w.elements() + c.y.elements());
  return {2 * static_cast<double>(c.y.elements()) * taps, element_bytes * elements};
}

void compute(Convolution convolution) {
  scale(convolution.tensor(convolution.result), convolution.beta);
  switch (convolution.result) {
    case Convolution::Result::y:
      return all<forward>(convolution);
    case Convolution::Result::x:
      return all<backward_data>(convolution);
    case Convolution::Result::w:
      return all<backward_filter>(convolution);
  }
}

}  // namespace simgpu::cudnn
