// The arithmetic of a transformer encoder, one result at a time: compiled by nvcc for the GPU and by the host's
// compiler for the simulated one. As PyTorch's nn.TransformerEncoderLayer with norm_first=False.
//
// Called by the kernels in score.cu and by those in sim_kernels.cpp, for each number from 0 to below the one that the
// function of the same name in `items` gives. A result depends on its record alone, whatever the batch: sums have a
// fixed order.
#pragma once

#include <cmath>
#include <cstdint>

#include "../both.h"

namespace score {

struct Shape {
  int batch = 0, length = 0;  // records of a unit, tokens of a record at most
  int hidden = 0, heads = 0, inner = 0, classes = 0, vocabulary = 0, positions = 0;
};

// Of one matrix product: y = activation(x w^T + bias), with w as PyTorch stores it.
struct Linear {
  int rows = 0, in = 0, out = 0;
  int activation = 0;  // 0: none, 1: ReLU, 2: GELU
};

namespace items {
FILL_BOTH int embed(const Shape& s) {
  return s.batch * s.length * s.hidden;
}
FILL_BOTH int linear(const Linear& l) {
  return l.rows * l.out;
}
FILL_BOTH int scores(const Shape& s) {
  return s.batch * s.heads * s.length * s.length;
}
FILL_BOTH int softmax(const Shape& s) {
  return s.batch * s.heads * s.length;
}
FILL_BOTH int mix(const Shape& s) {
  return s.batch * s.length * s.hidden;
}
FILL_BOTH int normalise(const Shape& s) {
  return s.batch * s.length;
}
FILL_BOTH int pool(const Shape& s) {
  return s.batch * s.hidden;
}
}  // namespace items

// A token that the vocabulary does not have counts as token 0, as padding does: nothing is read out of bounds.
FILL_BOTH void embed(int item, const Shape& s, const int* tokens, const float* table, const float* positions,
                     float* x) {
  const int row = item / s.hidden, column = item % s.hidden;
  const int token = tokens[row] >= 0 && tokens[row] < s.vocabulary ? tokens[row] : 0;
  x[item] = table[static_cast<std::int64_t>(token) * s.hidden + column] + positions[row % s.length * s.hidden + column];
}

FILL_BOTH void linear(int item, const Linear& l, const float* x, const float* w, const float* bias, float* y) {
  const int row = item / l.out, column = item % l.out;
  const float sum = bias[column] + fill::dot(x + static_cast<std::int64_t>(row) * l.in,
                                             w + static_cast<std::int64_t>(column) * l.in, l.in);
  if (l.activation == 1)
    y[item] = sum > 0 ? sum : 0;
  else if (l.activation == 2)
    y[item] = 0.5F * sum * (1 + erff(sum * 0.70710678F));
  else
    y[item] = sum;
}

// `projected`: for each token its query, key and value. Scores of keys behind the record's end are left as they are.
FILL_BOTH void scores(int item, const Shape& s, const float* projected, const std::uint32_t* lengths, float* out) {
  const int key = item % s.length, query = item / s.length % s.length;
  const int head = item / (s.length * s.length) % s.heads, record = item / (s.length * s.length * s.heads);
  if (key >= static_cast<int>(lengths[record])) return;
  const int width = s.hidden / s.heads;
  const float* const begin = projected + static_cast<std::int64_t>(record) * s.length * 3 * s.hidden + head * width;
  out[item] = fill::dot(begin + query * 3 * s.hidden, begin + key * 3 * s.hidden + s.hidden, width) /
              sqrtf(static_cast<float>(width));
}

FILL_BOTH void softmax(int item, const Shape& s, const std::uint32_t* lengths, float* values) {
  const int count = static_cast<int>(lengths[item / (s.heads * s.length)]);
  float* const row = values + static_cast<std::int64_t>(item) * s.length;
  float largest = count > 0 ? row[0] : 0, sum = 0;
  for (int key = 1; key < count; ++key) largest = row[key] > largest ? row[key] : largest;
  for (int key = 0; key < count; ++key) sum += row[key] = expf(row[key] - largest);
  for (int key = 0; key < count; ++key) row[key] /= sum;
}

FILL_BOTH void mix(int item, const Shape& s, const float* weights, const float* projected, const std::uint32_t* lengths,
                   float* out) {
  const int column = item % s.hidden, query = item / s.hidden % s.length, record = item / (s.hidden * s.length);
  const int head = column / (s.hidden / s.heads);
  const float* const row = weights + (static_cast<std::int64_t>(record * s.heads + head) * s.length + query) * s.length;
  const float* const values =
      projected + static_cast<std::int64_t>(record) * s.length * 3 * s.hidden + 2 * s.hidden + column;
  float sum = 0;
  for (int key = 0; key < static_cast<int>(lengths[record]); ++key) sum += row[key] * values[key * 3 * s.hidden];
  out[item] = sum;
}

// x = normalised(x + added)
FILL_BOTH void normalise(int item, const Shape& s, const float* added, const float* gain, const float* bias, float* x) {
  float* const row = x + static_cast<std::int64_t>(item) * s.hidden;
  const float* const other = added + static_cast<std::int64_t>(item) * s.hidden;
  float mean = 0, variance = 0;
  for (int column = 0; column < s.hidden; ++column) mean += row[column] += other[column];
  mean /= static_cast<float>(s.hidden);
  for (int column = 0; column < s.hidden; ++column) variance += (row[column] - mean) * (row[column] - mean);
  const float scale = 1 / sqrtf(variance / static_cast<float>(s.hidden) + 1e-5F);
  for (int column = 0; column < s.hidden; ++column)
    row[column] = (row[column] - mean) * scale * gain[column] + bias[column];
}

// The mean over the tokens of a record.
FILL_BOTH void pool(int item, const Shape& s, const float* x, const std::uint32_t* lengths, float* out) {
  const int record = item / s.hidden, column = item % s.hidden;
  const int count = static_cast<int>(lengths[record]);
  float sum = 0;
  for (int token = 0; token < count; ++token)
    sum += x[(static_cast<std::int64_t>(record) * s.length + token) * s.hidden + column];
  out[item] = count == 0 ? 0 : sum / static_cast<float>(count);
}

}  // namespace score
