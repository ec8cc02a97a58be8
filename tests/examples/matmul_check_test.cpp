// The check of the matrix-product fill job: whatever is wrong with a product, its rows are told. No GPU; the kernels do
// the same row by row.
#include <gtest/gtest.h>

#include <vector>

#include "fill/matmul_values.h"

namespace {

constexpr int kSize = 20;
constexpr unsigned kUnit = 7;

std::vector<float> product_of(unsigned unit) {
  std::vector<float> c(kSize * kSize, 0.0F);
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column)
      for (int k = 0; k < kSize; ++k)
        c[static_cast<std::size_t>(row * kSize + column)] +=
            fill::value_of_a(unit, static_cast<unsigned>(row * kSize + k)) *
            fill::value_of_b(unit, static_cast<unsigned>(k * kSize + column));
  return c;
}

int right_rows(const std::vector<float>& c) {
  std::vector<double> weighted;
  for (int row = 0; row < kSize; ++row) weighted.push_back(fill::weighted_row_of_b(kUnit, row, kSize));
  int right = 0;
  for (int row = 0; row < kSize; ++row) right += fill::row_is_right(kUnit, c.data(), weighted.data(), row, kSize);
  return right;
}

TEST(MatmulCheck, AProductIsRight) {
  EXPECT_EQ(right_rows(product_of(kUnit)), kSize);
}

TEST(MatmulCheck, EachWrongEntryIsFound) {
  const std::vector<float> c = product_of(kUnit);
  for (std::size_t index = 0; index < c.size(); ++index) {
    std::vector<float> wrong = c;
    wrong[index] += 1;
    EXPECT_EQ(right_rows(wrong), kSize - 1) << index;
  }
}

TEST(MatmulCheck, AnotherUnitsProductIsWrong) {
  EXPECT_LT(right_rows(product_of(kUnit + 1)), kSize / 2);
  EXPECT_LT(right_rows(std::vector<float>(kSize * kSize, 0.0F)), kSize / 2);
}

}  // namespace
