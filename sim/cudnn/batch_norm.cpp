// See the header.
#include "batch_norm.h"

#include <cmath>

namespace simgpu::cudnn {
namespace {

float& element(const BatchNormTensor& tensor, int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
  const auto& strides = tensor.strides;
  return tensor.data[n * strides[0] + c * strides[1] + d * strides[2] + h * strides[3] + w * strides[4]];
}

// Calls `visit` with the element that each of the tensors has at the same place of a channel.
template <class Visit, class... Tensors>
void each(const BatchNorm& norm, int64_t channel, Visit visit, const Tensors&... tensors) {
  for (int64_t n = 0; n < norm.sizes[0]; ++n)
    for (int64_t d = 0; d < norm.sizes[2]; ++d)
      for (int64_t h = 0; h < norm.sizes[3]; ++h)
        for (int64_t w = 0; w < norm.sizes[4]; ++w) visit(element(tensors, n, channel, d, h, w)...);
}

void blend(float& result, double value, float alpha, float beta) {
  result = static_cast<float>(alpha * value + (beta == 0 ? 0 : beta * result));
}

struct Moments {
  double mean, variance;
};

Moments moments(const BatchNorm& norm, int64_t channel, double count) {
  double sum = 0, squares = 0;
  each(
      norm, channel, [&](float x) { sum += x; }, norm.x);
  const double mean = sum / count;
  each(
      norm, channel, [&](float x) { squares += (x - mean) * (x - mean); }, norm.x);
  return {mean, squares / count};
}

void normalise(const BatchNorm& norm, int64_t channel, double mean, double inverse_deviation) {
  const double scale = norm.scale[channel] * inverse_deviation;
  const double bias = norm.bias[channel];
  each(
      norm, channel, [&](float x, float& y) { blend(y, (x - mean) * scale + bias, norm.alpha, norm.beta); }, norm.x,
      norm.y);
}

void train(const BatchNorm& norm, int64_t channel, double count) {
  const Moments found = moments(norm, channel, count);
  const double inverse_deviation = 1 / std::sqrt(found.variance + norm.epsilon);
  const auto update = [&](float* running, double value) {
    if (running == nullptr) return;
    running[channel] = static_cast<float>((1 - norm.factor) * running[channel] + norm.factor * value);
  };
  update(norm.running_mean, found.mean);
  // The running variance is the unbiased one.
  update(norm.running_variance, count > 1 ? found.variance * count / (count - 1) : found.variance);
  if (norm.saved_mean != nullptr) norm.saved_mean[channel] = static_cast<float>(found.mean);
  if (norm.saved_inverse_deviation != nullptr)
    norm.saved_inverse_deviation[channel] = static_cast<float>(inverse_deviation);
  normalise(norm, channel, found.mean, inverse_deviation);
}

void infer(const BatchNorm& norm, int64_t channel) {
  normalise(norm, channel, norm.running_mean[channel], 1 / std::sqrt(norm.running_variance[channel] + norm.epsilon));
}

void back(const BatchNorm& norm, int64_t channel, double count) {
  double mean, inverse_deviation;
  if (norm.saved_mean != nullptr && norm.saved_inverse_deviation != nullptr) {
    mean = norm.saved_mean[channel];
    inverse_deviation = norm.saved_inverse_deviation[channel];
  } else {
    const Moments found = moments(norm, channel, count);
    mean = found.mean;
    inverse_deviation = 1 / std::sqrt(found.variance + norm.epsilon);
  }
  double sum = 0, product = 0;
  each(
      norm, channel,
      [&](float x, float dy) {
        sum += dy;
        product += dy * (x - mean) * inverse_deviation;
      },
      norm.x, norm.y);
  const double scale = norm.scale[channel] * inverse_deviation;
  each(
      norm, channel,
      [&](float x, float dy, float& dx) {
        const double normalised = (x - mean) * inverse_deviation;
        blend(dx, scale * (dy - sum / count - normalised * product / count), norm.alpha, norm.beta);
      },
      norm.x, norm.y, norm.dx);
  blend(norm.scale_gradient[channel], product, norm.parameter_alpha, norm.parameter_beta);
  blend(norm.bias_gradient[channel], sum, norm.parameter_alpha, norm.parameter_beta);
}

}  // namespace

simgpu_cost cost_of(const BatchNorm& norm, double element_bytes) {
  const auto elements = static_cast<double>(norm.elements());
  switch (norm.pass) {
    case BatchNorm::Pass::training:
      return {5 * elements, 3 * elements * element_bytes};
    case BatchNorm::Pass::inference:
      return {2 * elements, 2 * elements * element_bytes};
    case BatchNorm::Pass::backward:
      break;
  }
  return {10 * elements, 5 * elements * element_bytes};
}

void compute(const BatchNorm& norm) {
  const auto count = static_cast<double>(norm.elements() / norm.sizes[1]);
  for (int64_t channel = 0; channel < norm.sizes[1]; ++channel) {
    switch (norm.pass) {
      case BatchNorm::Pass::training:
        train(norm, channel, count);
        break;
      case BatchNorm::Pass::inference:
        infer(norm, channel);
        break;
      case BatchNorm::Pass::backward:
        back(norm, channel, count);
        break;
    }
  }
}

}  // namespace simgpu::cudnn
