// The check of the matrix-product fill job: whatever is wrong with a product, its rows are told. No GPU; the kernels do
// the same row by row.
#include <gtest/gtest.h>

#include <vector>

#include "fill/matmul_values.h"

namespace {

constexpr int matrix_size = 20;
constexpr unsigned unit_number = 7;

std::vector<float> product_of(unsigned unit) {
  std::vector<float> c(matrix_size * matrix_size, 0.0F);
  for (int row = 0; row < matrix_size; ++row)
    for (int column = 0; column < matrix_size; ++column)
      for (int k = 0; k < matrix_size; ++k)
        c[static_cast<std::size_t>(row * matrix_size + column)] +=
            fill::value_of_a(unit, static_cast<unsigned>(row * matrix_size + k)) *
            fill::value_of_b(unit, static_cast<unsigned>(k * matrix_size + column));
  return c;
}

int right_rows(const std::vector<float>& c) {
  std::vector<double> weighted;
  for (int row = 0; row < matrix_size; ++row)
    weighted.push_back(fill::weighted_row_of_b(unit_number, row, matrix_size));
  int right = 0;
  for (int row = 0; row < matrix_size; ++row)
    right += fill::row_is_right(unit_number, c.data(), weighted.data(), row, matrix_size);
  return right;
}

TEST(MatmulCheck, AProductIsRight) {
  EXPECT_EQ(right_rows(product_of(unit_number)), matrix_size);
}

TEST(MatmulCheck, EachWrongEntryIsFound) {
  const std::vector<float> c = product_of(unit_number);
  for (std::size_t index = 0; index < c.size(); ++index) {
    std::vector<float> wrong = c;
    wrong[index] += 1;
    EXPECT_EQ(right_rows(wrong), matrix_size - 1) << index;
  }
}

TEST(MatmulCheck, AnotherUnitsProductIsWrong) {
  EXPECT_LT(right_rows(product_of(unit_number + 1)), matrix_size / 2);
  EXPECT_LT(right_rows(std::vector<float>(matrix_size * matrix_size, 0.0F)), matrix_size / 2);
}

}  // namespace
