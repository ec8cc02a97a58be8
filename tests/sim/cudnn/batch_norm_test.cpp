// Batch normalisation of the simulated cuDNN, against its definition written down plainly: two channels of 2 x 3
// elements in a batch of 2.
#include "batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sample.h"

namespace {

using namespace simgpu::cudnn;

class BatchNorms : public ::testing::Test {
 protected:
  static constexpr int channels = 2, places = 6, batch = 2, count = batch * places;
  BatchNorm norm(BatchNorm::Pass pass) {
    BatchNorm norm{};
    norm.pass = pass;
    norm.sizes = {batch, channels, 1, 2, 3};
    const std::array<int64_t, 5> strides = {channels * places, places, places, 3, 1};
    norm.x = {strides, x.data()}, norm.y = {strides, y.data()}, norm.dx = {strides, dx.data()};
    norm.scale = scale.data(), norm.bias = bias.data();
    norm.running_mean = running_mean.data(), norm.running_variance = running_variance.data();
    norm.saved_mean = saved_mean.data(), norm.saved_inverse_deviation = saved_inverse.data();
    norm.scale_gradient = scale_gradient.data(), norm.bias_gradient = bias_gradient.data();
    norm.factor = 0.25, norm.epsilon = 1e-3;
    norm.alpha = norm.parameter_alpha = 1;
    return norm;
  }
  static size_t index(int n, int channel, int place) {
    return static_cast<size_t>((n * channels + channel) * places + place);
  }
  double mean(int channel) const {
    double sum = 0;
    for (int n = 0; n < batch; ++n)
      for (int i = 0; i < places; ++i) sum += x[index(n, channel, i)];
    return sum / count;
  }
  double variance(int channel) const {
    double sum = 0;
    for (int n = 0; n < batch; ++n)
      for (int i = 0; i < places; ++i) sum += std::pow(x[index(n, channel, i)] - mean(channel), 2);
    return sum / count;
  }
  // An element of x after training's normalisation; of a changed x too, for the gradients.
  double normalised(int n, int channel, int place) const {
    return (x[index(n, channel, place)] - mean(channel)) / std::sqrt(variance(channel) + 1e-3);
  }
  double loss() const {
    double sum = 0;
    for (int n = 0; n < batch; ++n)
      for (int c = 0; c < channels; ++c)
        for (int i = 0; i < places; ++i)
          sum += gradient[index(n, c, i)] *
                 (normalised(n, c, i) * scale[static_cast<size_t>(c)] + bias[static_cast<size_t>(c)]);
    return sum;
  }

  std::vector<float> x = numbers(count * channels, 5), gradient = numbers(count * channels, 7);
  std::vector<float> y = std::vector<float>(x.size(), NAN), dx = y;
  std::vector<float> scale = {1.5F, -0.5F}, bias = {0.25F, 2}, running_mean = {1, 2}, running_variance = {3, 4};
  std::vector<float> saved_mean = {NAN, NAN}, saved_inverse = saved_mean, scale_gradient = saved_mean,
                     bias_gradient = saved_mean;
};

TEST_F(BatchNorms, Training) {
  compute(norm(BatchNorm::Pass::training));
  for (int c = 0; c < channels; ++c) {
    const auto i = static_cast<size_t>(c);
    EXPECT_NEAR(saved_mean[i], mean(c), 1e-6);
    EXPECT_NEAR(saved_inverse[i], 1 / std::sqrt(variance(c) + 1e-3), 1e-6);
    EXPECT_NEAR(running_mean[i], 0.75 * (c + 1) + 0.25 * mean(c), 1e-6);
    EXPECT_NEAR(running_variance[i], 0.75 * (c + 3) + 0.25 * variance(c) * count / (count - 1), 1e-6);
    for (int n = 0; n < batch; ++n)
      for (int place = 0; place < places; ++place)
        EXPECT_NEAR(y[index(n, c, place)], normalised(n, c, place) * scale[i] + bias[i], 1e-5);
  }
}

TEST_F(BatchNorms, InferenceGoesByTheRunningOnes) {
  compute(norm(BatchNorm::Pass::inference));
  EXPECT_EQ(running_mean, (std::vector<float>{1, 2}));
  for (int c = 0; c < channels; ++c)
    EXPECT_NEAR(y[index(1, c, 4)],
                (x[index(1, c, 4)] - (c + 1.0)) / std::sqrt(c + 3 + 1e-3) * scale[static_cast<size_t>(c)] +
                    bias[static_cast<size_t>(c)],
                1e-5);
}

TEST_F(BatchNorms, BackwardIsTheDerivative) {
  compute(norm(BatchNorm::Pass::training));
  y = gradient;
  compute(norm(BatchNorm::Pass::backward));
  std::vector<float> with_saved = dx;
  const auto slope = [&](float& parameter) {
    const float before = parameter, step = 1e-2F;
    parameter = before + step;
    const double above = loss();
    parameter = before - step;
    const double below = loss();
    parameter = before;
    return (above - below) / (2 * step);
  };
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], slope(x[i]), 1e-3) << i;
  for (size_t c = 0; c < channels; ++c) {
    EXPECT_NEAR(scale_gradient[c], slope(scale[c]), 1e-3);
    EXPECT_NEAR(bias_gradient[c], slope(bias[c]), 1e-3);
  }
  // Without the saved ones they are made again.
  BatchNorm again = norm(BatchNorm::Pass::backward);
  again.saved_mean = again.saved_inverse_deviation = nullptr;
  compute(again);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], with_saved[i], 1e-5);
}

TEST_F(BatchNorms, Costs) {
  const double elements = count * channels;
  const auto cost = [&](BatchNorm::Pass pass) { return cost_of(norm(pass), 4); };
  EXPECT_EQ(cost(BatchNorm::Pass::training).flops, 5 * elements);
  EXPECT_EQ(cost(BatchNorm::Pass::training).bytes, 12 * elements);
  EXPECT_EQ(cost(BatchNorm::Pass::inference).bytes, 8 * elements);
  EXPECT_EQ(cost(BatchNorm::Pass::backward).flops, 10 * elements);
  EXPECT_EQ(cost(BatchNorm::Pass::backward).bytes, 20 * elements);
}

}  // namespace
