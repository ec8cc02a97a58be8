// Convolutions of the simulated cuDNN, against their definition written down plainly.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <vector>

#include "convolution.h"
#include "sample.h"

namespace {

using namespace simgpu::cudnn;
using Result = Convolution::Result;

ConvolutionTensor dense(int64_t outer, int64_t inner, Extents extents, std::vector<float>& data) {
  const Extents strides = {extents[1] * extents[2], extents[2], 1};
  const int64_t inner_stride = extents[0] * strides[0];
  return {outer, inner, extents, inner * inner_stride, inner_stride, strides, data.data()};
}

// Channels lie next to each other.
ConvolutionTensor channels_last(ConvolutionTensor tensor) {
  const int64_t channels = tensor.inner;
  const Extents& extents = tensor.extents;
  tensor.inner_stride = 1;
  tensor.strides = {extents[1] * extents[2] * channels, extents[2] * channels, channels};
  tensor.outer_stride = extents[0] * tensor.strides[0];
  return tensor;
}

float& at(const ConvolutionTensor& t, int64_t outer, int64_t inner, Extents i) {
  return t.data[outer * t.outer_stride + inner * t.inner_stride + i[0] * t.strides[0] + i[1] * t.strides[1] +
                i[2] * t.strides[2]];
}

// Every product of the definition: visit(x, w, y).
template <class Visit>
void products(const Convolution& c, Visit visit) {
  const int64_t filters_per_group = c.w.outer / c.groups();
  const auto each = [](Extents extents, auto&& action) {
    for (int64_t i = 0; i < extents[0] * extents[1] * extents[2]; ++i)
      action(Extents{i / extents[2] / extents[1], i / extents[2] % extents[1], i % extents[2]});
  };
  for (int64_t n = 0; n < c.x.outer; ++n)
    for (int64_t k = 0; k < c.w.outer; ++k)
      for (int64_t channel = 0; channel < c.w.inner; ++channel)
        each(c.y.extents, [&](Extents out) {
          each(c.w.extents, [&](Extents tap) {
            Extents in, weight;
            for (size_t i = 0; i < 3; ++i) {
              in[i] = out[i] * c.stride[i] + tap[i] * c.dilation[i] - c.padding_before[i];
              weight[i] = c.flipped ? c.w.extents[i] - 1 - tap[i] : tap[i];
              if (in[i] < 0 || in[i] >= c.x.extents[i]) return;
            }
            visit(at(c.x, n, k / filters_per_group * c.w.inner + channel, in), at(c.w, k, channel, weight),
                  at(c.y, n, k, out));
          });
        });
}

struct Case {
  const char* name;
  int64_t batch, channels, filters, groups;
  Extents input, filter, stride, dilation, padding_before, padding_after;
  bool flipped, last;
};

void PrintTo(const Case& shape, std::ostream* out) {
  *out << shape.name;
}

class Convolutions : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    Extents output;
    for (size_t i = 0; i < 3; ++i)
      output[i] = (c.input[i] + c.padding_before[i] + c.padding_after[i] - c.dilation[i] * (c.filter[i] - 1) - 1) /
                      c.stride[i] +
                  1;
    const auto volume = [](const Extents& e) { return e[0] * e[1] * e[2]; };
    x_ = numbers(c.batch * c.channels * volume(c.input), 1);
    w_ = numbers(c.filters * c.channels / c.groups * volume(c.filter), 2);
    y_ = numbers(c.batch * c.filters * volume(output), 3);
    convolution_ = {Result::y,
                    dense(c.batch, c.channels, c.input, x_),
                    dense(c.filters, c.channels / c.groups, c.filter, w_),
                    dense(c.batch, c.filters, output, y_),
                    c.stride,
                    c.dilation,
                    c.padding_before,
                    c.padding_after,
                    c.flipped,
                    1,
                    0};
    if (c.last) {
      convolution_.x = channels_last(convolution_.x);
      convolution_.w = channels_last(convolution_.w);
      convolution_.y = channels_last(convolution_.y);
    }
  }

  std::vector<float>& data(Result which) { return which == Result::y ? y_ : which == Result::x ? x_ : w_; }

  std::vector<float> expected(Result result, float alpha, float beta) {
    const std::vector<float> before = data(result);
    std::vector<float> sums(before.size());
    Convolution there = convolution_;
    std::vector<float> scratch(before.size(), 0);
    there.tensor(result).data = scratch.data();
    products(there, [&](float& x, float& w, float& y) {
      if (result == Result::y) y += x * w;
      if (result == Result::x) x += y * w;
      if (result == Result::w) w += x * y;
    });
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = alpha * scratch[i] + (beta == 0 ? 0 : beta * before[i]);
    return sums;
  }

  Convolution convolution_;
  std::vector<float> x_, w_, y_;
};

TEST_P(Convolutions, AreTheirDefinition) {
  ASSERT_TRUE(consistent(convolution_));
  for (const Result result : {Result::y, Result::x, Result::w}) {
    for (const auto& [alpha, beta] : {std::pair{1.F, 0.F}, std::pair{0.5F, 2.F}}) {
      const std::vector<float> wanted = expected(result, alpha, beta);
      Convolution convolution = convolution_;
      convolution.result = result, convolution.alpha = alpha, convolution.beta = beta;
      compute(convolution);
      ASSERT_EQ(data(result).size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(data(result)[i], wanted[i], 1e-3 + 1e-4 * std::fabs(wanted[i]))
            << static_cast<int>(result) << ' ' << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolutions,
    ::testing::Values(
        Case{"plain", 2, 3, 4, 1, {1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, false, false},
        Case{"line", 2, 3, 4, 1, {1, 1, 9}, {1, 1, 4}, {1, 1, 2}, {1, 1, 1}, {0, 0, 3}, {0, 0, 1}, false, false},
        Case{"volume", 1, 2, 3, 1, {4, 5, 6}, {2, 3, 2}, {2, 1, 2}, {1, 2, 1}, {1, 1, 0}, {1, 0, 2}, false, false},
        Case{"groups", 2, 4, 6, 2, {1, 5, 5}, {1, 2, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false, false},
        Case{"depthwise", 1, 4, 4, 4, {1, 5, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, false, false},
        Case{"padding_beyond_the_filter",
             1,
             1,
             1,
             1,
             {1, 2, 2},
             {1, 2, 2},
             {1, 1, 1},
             {1, 3, 3},
             {0, 4, 4},
             {0, 4, 4},
             false,
             false},
        Case{"flipped", 1, 2, 2, 1, {1, 5, 6}, {1, 3, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, true, false},
        Case{"channels_last",
             2,
             3,
             4,
             1,
             {1, 5, 6},
             {1, 3, 3},
             {1, 1, 2},
             {1, 1, 1},
             {0, 1, 1},
             {0, 1, 1},
             false,
             true}),
    [](const auto& shape) { return shape.param.name; });

TEST(Convolution, WhatWasThereNeedNotBeANumber) {
  std::vector<float> x = {1, 2}, w = {3}, y = {NAN, NAN};
  Convolution convolution{Result::y,
                          dense(1, 1, {1, 1, 2}, x),
                          dense(1, 1, {1, 1, 1}, w),
                          dense(1, 1, {1, 1, 2}, y),
                          {1, 1, 1},
                          {1, 1, 1},
                          {0, 0, 0},
                          {0, 0, 0},
                          false,
                          1,
                          0};
  compute(convolution);
  EXPECT_EQ(y, (std::vector<float>{3, 6}));
}

TEST(Convolution, CostIsThatOfItsSize) {
  std::vector<float> nothing(1);
  const Convolution convolution{Result::w,
                                dense(2, 4, {1, 8, 8}, nothing),
                                dense(6, 2, {1, 3, 3}, nothing),
                                dense(2, 6, {1, 6, 6}, nothing),
                                {1, 1, 1},
                                {1, 1, 1},
                                {0, 0, 0},
                                {0, 0, 0},
                                false,
                                1,
                                0};
  const simgpu_cost cost = cost_of(convolution, 4);
  EXPECT_EQ(cost.flops, 2.0 * (2 * 6 * 36) * (2 * 9));
  EXPECT_EQ(cost.bytes, 4.0 * (2 * 4 * 64 + 6 * 2 * 9 + 2 * 6 * 36));
}

TEST(Convolution, SizesThatDoNotFitAreSeen) {
  std::vector<float> nothing(1);
  const Convolution fits{Result::y,
                         dense(1, 4, {1, 8, 8}, nothing),
                         dense(6, 2, {1, 3, 3}, nothing),
                         dense(1, 6, {1, 6, 6}, nothing),
                         {1, 1, 1},
                         {1, 1, 1},
                         {0, 0, 0},
                         {0, 0, 0},
                         false,
                         1,
                         0};
  ASSERT_TRUE(consistent(fits));
  const auto broken = [&](auto&& change) {
    Convolution copy = fits;
    change(copy);
    return !consistent(copy);
  };
  EXPECT_TRUE(broken([](Convolution& c) { c.y.extents[2] = 7; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.y.outer = 2; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.y.inner = 5; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.w.inner = 3; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.w.inner = 0; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.stride[1] = 0; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.padding_before[1] = -1; }));
  EXPECT_TRUE(broken([](Convolution& c) { c.w.extents = {1, 9, 9}; }));
}

}  // namespace
