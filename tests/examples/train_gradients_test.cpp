// The arithmetic of the training job: the gradients of each layer, and of all parameters of a network, against finite
// differences in double precision; and that the order of the items of a kernel changes no bit. No GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <vector>

#include "train_on_host.h"

namespace train {

// In the names of tests.
void PrintTo(const Conv& c, std::ostream* out) {
  *out << c.images << "x" << c.height << "x" << c.width << "x" << c.in << "_to_" << c.out << "_stride_" << c.stride;
}
void PrintTo(const Network& n, std::ostream* out) {
  *out << n.batch << "x" << n.height << "x" << n.width << "x" << n.colours << "_channels_" << n.channels << "_blocks_"
       << n.blocks << "_classes_" << n.classes;
}

}  // namespace train

namespace {

using train::Conv;
using train::Head;
using train::Parts;
using train::Plane;
using train_test::OnHost;
using train_test::random_numbers;
using train_test::Trained;
using Numbers = std::vector<double>;

double product(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// How `value` changes with a number that it depends on.
double slope(const std::function<double()>& value, double& number) {
  constexpr double distance = 1e-6;
  const double before = number;
  number = before + distance;
  const double above = value();
  number = before - distance;
  const double below = value();
  number = before;
  return (above - below) / (2 * distance);
}

void expect_slopes(const std::function<double()>& value, Numbers& numbers, const Numbers& gradient, const char* which) {
  ASSERT_EQ(numbers.size(), gradient.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ASSERT_NEAR(gradient[i], slope(value, numbers[i]), 1e-6) << which << " " << i;
}

// Of all images together.
Numbers sum_of(const Parts<double>& parts, int count) {
  Numbers sum(static_cast<std::size_t>(count));
  for (int image = 0; image < parts.images; ++image)
    for (int i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] += parts.numbers[image * parts.pitch + i];
  return sum;
}

class TrainConv : public testing::TestWithParam<Conv> {};

TEST_P(TrainConv, HasTheGradientsOfItsWeightsAndOfItsInput) {
  const Conv c = GetParam();
  Numbers x = random_numbers<double>(static_cast<std::size_t>(c.inputs()), 1, 0.1, 1);
  Numbers w = random_numbers<double>(static_cast<std::size_t>(c.weights()), 2);
  Numbers y(static_cast<std::size_t>(c.outputs()));
  const Numbers gradient = random_numbers<double>(y.size(), 3);
  const double* const none = nullptr;
  OnHost run;
  const auto value = [&] {
    run.conv(c, x.data(), w.data(), none, y.data());
    return product(y, gradient);
  };
  const int pitch = c.weights() + 5;  // there may be other parameters behind them
  Numbers of_weights(static_cast<std::size_t>(c.images * pitch));
  const Parts<double> parts{of_weights.data(), c.images, pitch};
  run.conv_gradient(c, x.data(), gradient.data(), parts);
  expect_slopes(value, w, sum_of(parts, c.weights()), "weight");
  if (c.stride != 1) return;
  Numbers of_input(x.size());
  run.conv_back(c, gradient.data(), w.data(), x.data(), none, of_input.data());
  expect_slopes(value, x, of_input, "input");
}

INSTANTIATE_TEST_SUITE_P(Shapes, TrainConv,
                         testing::Values(Conv{2, 5, 4, 3, 2, 1}, Conv{1, 2, 2, 1, 1, 1}, Conv{2, 3, 6, 5, 7, 1},
                                         Conv{2, 5, 4, 3, 2, 2}, Conv{1, 6, 7, 1, 4, 2}, Conv{1, 3, 3, 2, 1, 2}));

// The gradient passes where a ReLU has let something through, and what skips the convolution is added.
TEST(TrainConv, AddsWhatSkipsItAndStopsWhereTheInputIsZero) {
  const Conv c{1, 3, 3, 2, 2, 1};
  const auto count = static_cast<std::size_t>(c.outputs());
  Numbers x = random_numbers<double>(count, 4), w = random_numbers<double>(static_cast<std::size_t>(c.weights()), 5);
  const Numbers skip = random_numbers<double>(count, 6), gradient = random_numbers<double>(count, 7);
  for (double& number : x) number = number > 0 ? number : 0;
  Numbers plain(count), added(count), back(count), back_with_skip(count);
  const double* const none = nullptr;
  OnHost run;
  run.conv(c, x.data(), w.data(), none, plain.data());
  run.conv(c, x.data(), w.data(), skip.data(), added.data());
  run.conv_back(c, gradient.data(), w.data(), x.data(), none, back.data());
  run.conv_back(c, gradient.data(), w.data(), x.data(), skip.data(), back_with_skip.data());
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(added[i], std::max(plain[i] + skip[i], 0.0));
    EXPECT_EQ(back_with_skip[i], x[i] > 0 ? back[i] + skip[i] : 0);
    EXPECT_TRUE(x[i] > 0 || back[i] == 0);
  }
}

TEST(TrainNorm, HasTheGradientsOfItsGainsBiasesAndInput) {
  const Plane p{2, 3, 5};
  const auto count = static_cast<std::size_t>(p.numbers()), channels = static_cast<std::size_t>(p.channels);
  Numbers x = random_numbers<double>(count, 1), gain = random_numbers<double>(channels, 2, 0.5, 1.5);
  Numbers bias = random_numbers<double>(channels, 3), hat, y(count);
  Numbers scales(static_cast<std::size_t>(train::items::norm(p)));
  const Numbers of_output = random_numbers<double>(count, 4);
  OnHost run;
  const auto value = [&] {
    hat = x;
    run.norm(p, gain.data(), bias.data(), hat.data(), scales.data(), y.data());
    return product(y, of_output);
  };
  value();
  Numbers gradient = of_output;
  for (std::size_t i = 0; i < count; ++i)
    if (y[i] == 0) gradient[i] = 0;
  Numbers of_parameters(2 * 2 * channels);
  const Parts<double> parts{of_parameters.data(), p.images, 2 * p.channels};
  run.norm_gradient(p, hat.data(), gradient.data(), parts);
  run.norm_back(p, gain.data(), hat.data(), scales.data(), gradient.data());
  const Numbers sum = sum_of(parts, 2 * p.channels);
  const auto half = sum.begin() + p.channels;
  expect_slopes(value, gain, Numbers(sum.begin(), half), "gain");
  expect_slopes(value, bias, Numbers(half, sum.end()), "bias");
  expect_slopes(value, x, gradient, "input");
}

TEST(TrainPool, HasTheGradientOfItsInput) {
  const Plane p{2, 6, 3};
  Numbers x = random_numbers<double>(static_cast<std::size_t>(p.numbers()), 1, 0.1, 1);
  Numbers means(static_cast<std::size_t>(p.images * p.channels)), of_input(x.size());
  const Numbers gradient = random_numbers<double>(means.size(), 2);
  OnHost run;
  const auto value = [&] {
    run.pool(p, x.data(), means.data());
    return product(means, gradient);
  };
  run.pool_back(p, gradient.data(), x.data(), of_input.data());
  expect_slopes(value, x, of_input, "input");
  x[4] = 0;
  run.pool_back(p, gradient.data(), x.data(), of_input.data());
  EXPECT_EQ(of_input[4], 0);
}

// A training that has gone wrong must not look right: what is not a number goes through each ReLU, in both directions.
TEST(TrainRelu, LetsThroughWhatIsNotANumber) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(train::rectified(none)));
  EXPECT_EQ(train::rectified(-2.0), 0);
  EXPECT_EQ(train::rectified(2.0), 2);
  EXPECT_EQ(train::rectified_back(none, 3.0), 3);
  EXPECT_EQ(train::rectified_back(0.0, none), 0);
  EXPECT_TRUE(std::isnan(train::rectified_back(1.0, none)));
}

TEST(TrainHead, HasTheGradientsOfTheCrossEntropy) {
  const Head h{3, 5, 4};
  Numbers means = random_numbers<double>(15, 1), w = random_numbers<double>(static_cast<std::size_t>(h.weights()), 2);
  Numbers scores(12), losses(3), of_means(means.size());
  const std::vector<int> labels{3, 0, 2};
  OnHost run;
  const auto value = [&] {
    run.head(h, means.data(), w.data(), scores.data());
    run.loss(h, labels.data(), scores.data(), losses.data());
    return (losses[0] + losses[1] + losses[2]) / 3;
  };
  value();
  Numbers of_weights(static_cast<std::size_t>(h.images * h.weights()));
  const Parts<double> parts{of_weights.data(), h.images, h.weights()};
  run.head_gradient(h, means.data(), scores.data(), parts);
  run.head_back(h, scores.data(), w.data(), of_means.data());
  expect_slopes(value, w, sum_of(parts, h.weights()), "weight");
  expect_slopes(value, means, of_means, "mean");
}

// Of scores that exp() has no number for.
TEST(TrainHead, HasALossWhereScoresAreLarge) {
  const Head h{1, 1, 3};
  std::vector<float> scores{500, -500, 480}, losses(1);
  const int label = 2;
  train::loss(0, h, &label, scores.data(), losses.data());
  EXPECT_FLOAT_EQ(losses[0], 20);
  EXPECT_FLOAT_EQ(scores[0], 1);
  EXPECT_FLOAT_EQ(scores[2], -1);
}

class TrainNetwork : public testing::TestWithParam<train::Network> {};

// A step with no rate leaves the parameters, and the gradients are the momenta that begin with 0.
TEST_P(TrainNetwork, HasTheGradientOfEachParameter) {
  Trained<double> trained(GetParam());
  trained.step({0, 0});
  const Numbers gradient = trained.momenta;
  double largest = 0;
  for (const double number : gradient) largest = std::max(largest, std::abs(number));
  EXPECT_GT(largest, 1e-3);
  expect_slopes([&] { return trained.loss(); }, trained.parameters, gradient, "parameter");
}

TEST_P(TrainNetwork, HasNoLossWhereAWeightIsNone) {
  for (const std::size_t which : {std::size_t{0}, GetParam().first_at(0)}) {
    Trained<float> trained(GetParam());
    trained.parameters[which] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(trained.loss())) << which;
  }
}

TEST_P(TrainNetwork, IsTheSameInWhateverOrderItemsAreComputed) {
  Trained<float> forwards(GetParam()), backwards(GetParam());
  for (int step = 0; step < 3; ++step) {
    forwards.step({0.05F, 0.9F});
    backwards.step({0.05F, 0.9F}, OnHost(true));
  }
  EXPECT_EQ(forwards.parameters, backwards.parameters);
  EXPECT_EQ(forwards.momenta, backwards.momenta);
}

// By as much as the gradient is long, where the step is short.
TEST_P(TrainNetwork, GoesDownhill) {
  Trained<double> trained(GetParam());
  const double before = trained.loss();
  constexpr float rate = 1e-4F;
  trained.step({rate, 0});
  const double expected = rate * product(trained.momenta, trained.momenta);
  EXPECT_NEAR(before - trained.loss(), expected, 0.05 * expected);
}

// Without any block; of odd sizes; with more classes than channels, so that the head is the largest layer.
INSTANTIATE_TEST_SUITE_P(Shapes, TrainNetwork,
                         testing::Values(train::Network{3, 5, 4, 2, 3, 2, 3}, train::Network{2, 7, 9, 1, 4, 1, 2},
                                         train::Network{4, 3, 3, 3, 1, 1, 40}, train::Network{2, 4, 6, 3, 9, 0, 2}));

TEST(TrainUpdate, KeepsMomentum) {
  float parts[] = {1, 2, 3, 5}, parameters[] = {10, 20}, momenta[] = {100, 200};
  const Parts<float> both{parts, 2, 2};
  for (int i = 0; i < 2; ++i) train::update(i, {0.25F, 0.5F}, both, parameters, momenta);
  EXPECT_EQ(momenta[0], 54);
  EXPECT_EQ(momenta[1], 107);
  EXPECT_EQ(parameters[0], 10 - 13.5F);
  EXPECT_EQ(parameters[1], 20 - 26.75F);
}

}  // namespace
