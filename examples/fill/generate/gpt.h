// The arithmetic of a GPT-2 over rows of tokens, one number (or a few beside each other) at a time: compiled by nvcc
// for the GPU and by the host's compiler for the simulated one.
//
// Called by the kernels in generate.cu and by those in sim_kernels.cpp, for each number from 0 to below the one that
// the function of the same name in `items` gives. A row's numbers depend on its own tokens alone and have sums of one
// fixed order, so a token comes out the same whether it was guessed, read, or computed alone: that is why guessing
// changes no text. Layer norm, products, GELU as in GPT-2; weights of products are stored [in][out].
#pragma once

#include <cmath>
#include <cstdint>

#include "../both.h"
#include "rows.h"

namespace generate {

struct Shape {
  int hidden = 0, heads = 0, layers = 0, vocabulary = 0, positions = 0;
};

// Of one product: y = x w + bias, then GELU, or added to what is there.
struct Linear {
  int in = 0, out = 0;
  bool gelu = false, adds = false;
};

constexpr int span = 256;        // tokens of the vocabulary among which the best ones are found together
constexpr int most_guesses = 4;  // guesses of a draft for one place

struct Best {
  float value[most_guesses];
  int token[most_guesses];
};

namespace items {
FILL_BOTH int embed(const Rows& r, const Shape& s) {
  return r.count() * s.hidden;
}
FILL_BOTH int normalise(const Rows& r) {
  return r.count();
}
template <int beside>
FILL_BOTH int linear(const Rows& r, const Linear& l) {
  return r.count() * ((l.out + beside - 1) / beside);
}
FILL_BOTH int scores(const Rows& r, const Shape& s) {
  return r.count() * s.heads * s.positions;
}
FILL_BOTH int softmax(const Rows& r, const Shape& s) {
  return r.count() * s.heads;
}
FILL_BOTH int mix(const Rows& r, const Shape& s) {
  return r.count() * s.hidden;
}
FILL_BOTH int keep(const Kept& k, const Shape& s) {
  return k.lanes * k.stride * s.layers * 2 * s.hidden;
}
FILL_BOTH int head(const Rows& r, const Shape& s) {
  return r.count() * s.vocabulary;
}
FILL_BOTH int best(const Rows& r, const Shape& s) {
  return r.count() * ((s.vocabulary + span - 1) / span);
}
FILL_BOTH int merge(const Rows& r) {
  return r.count();
}
}  // namespace items

// Nothing is read out of bounds, whatever a row has.
FILL_BOTH int token_of(const Row& row, const Shape& s) {
  return row.token >= 0 && row.token < s.vocabulary ? row.token : 0;
}

FILL_BOTH void embed(int item, const Rows& r, const Shape& s, const float* table, const float* positions, float* x) {
  const Row row = row_of(r, item / s.hidden);
  const int column = item % s.hidden;
  x[static_cast<std::int64_t>(row.place) * s.hidden + column] =
      table[static_cast<std::int64_t>(token_of(row, s)) * s.hidden + column] +
      positions[static_cast<std::int64_t>(row.position) * s.hidden + column];
}

FILL_BOTH void normalise(int item, const Rows& r, int width, const float* gain, const float* bias, const float* x,
                         float* out) {
  const std::int64_t place = static_cast<std::int64_t>(row_of(r, item).place) * width;
  float mean = 0, variance = 0;
  for (int column = 0; column < width; ++column) mean += x[place + column];
  mean /= static_cast<float>(width);
  for (int column = 0; column < width; ++column) variance += (x[place + column] - mean) * (x[place + column] - mean);
  const float scale = 1 / sqrtf(variance / static_cast<float>(width) + 1e-5F);
  for (int column = 0; column < width; ++column)
    out[place + column] = (x[place + column] - mean) * scale * gain[column] + bias[column];
}

FILL_BOTH float gelu(float x) {
  return 0.5F * x * (1 + tanhf(0.7978845608F * (x + 0.044715F * x * x * x)));
}

FILL_BOTH void finish(const Linear& l, float sum, float* y) {
  if (l.adds)
    *y += sum;
  else
    *y = l.gelu ? gelu(sum) : sum;
}

// Some outputs beside each other, each a sum of its own: one on the GPU, where threads beside each other read weights
// that lie so; more on a host, whose compiler makes one vector of them.
template <int beside>
FILL_BOTH void linear(int item, const Rows& r, const Linear& l, const float* x, const float* w, const float* bias,
                      float* y) {
  const int groups = (l.out + beside - 1) / beside, column = item % groups * beside;
  const std::int64_t place = row_of(r, item / groups).place;
  const int count = l.out - column < beside ? l.out - column : beside;
  float sums[beside] = {};
  for (int i = 0; i < count; ++i) sums[i] = bias[column + i];
  if (count == beside) {
    for (int k = 0; k < l.in; ++k)
      for (int i = 0; i < beside; ++i)
        sums[i] += x[place * l.in + k] * w[static_cast<std::int64_t>(k) * l.out + column + i];
  } else {
    for (int k = 0; k < l.in; ++k)
      for (int i = 0; i < count; ++i)
        sums[i] += x[place * l.in + k] * w[static_cast<std::int64_t>(k) * l.out + column + i];
  }
  for (int i = 0; i < count; ++i) finish(l, sums[i], y + place * l.out + column + i);
}

// Queries, keys and values of rows in one layer, and keys and values of the text before them in the same layer.
struct Attention {
  const float* rows = nullptr;   // [lane][place][3 hidden]
  const float* cache = nullptr;  // [lane][position][2 hidden]
};

FILL_BOTH const float* key_of(const Attention& a, const Rows& r, const Shape& s, const Row& row, int number) {
  if (number < row.base) return a.cache + (static_cast<std::int64_t>(row.lane) * s.positions + number) * 2 * s.hidden;
  const int place = row.lane * r.stride + ancestor(r, row, number - row.base);
  return a.rows + static_cast<std::int64_t>(place) * 3 * s.hidden + s.hidden;
}

FILL_BOTH int keys_of(const Row& row) {
  return row.base + row.depth + 1;
}

// All positions are gone through, also those behind the last key, which count for nothing: what a pass takes does not
// depend on how long its texts are, because Weft times it only once.
FILL_BOTH int near_key(const Row& row, int number) {
  return number < keys_of(row) ? number : keys_of(row) - 1;
}

// `scores`: [place][head][position].
FILL_BOTH void scores(int item, const Rows& r, const Shape& s, const Attention& a, float* scores) {
  const int number = item % s.positions, head = item / s.positions % s.heads;
  const Row row = row_of(r, item / s.positions / s.heads);
  const int width = s.hidden / s.heads;
  const float* const query = a.rows + static_cast<std::int64_t>(row.place) * 3 * s.hidden + head * width;
  const float score = fill::dot(query, key_of(a, r, s, row, near_key(row, number)) + head * width, width) /
                      sqrtf(static_cast<float>(width));
  scores[(static_cast<std::int64_t>(row.place) * s.heads + head) * s.positions + number] =
      number < keys_of(row) ? score : -INFINITY;
}

FILL_BOTH void softmax(int item, const Rows& r, const Shape& s, float* scores) {
  const Row row = row_of(r, item / s.heads);
  float* const of_head = scores + (static_cast<std::int64_t>(row.place) * s.heads + item % s.heads) * s.positions;
  float largest = of_head[0], sum = 0;
  for (int number = 1; number < s.positions; ++number) largest = fmaxf(largest, of_head[number]);
  for (int number = 0; number < s.positions; ++number) sum += of_head[number] = expf(of_head[number] - largest);
  for (int number = 0; number < s.positions; ++number) of_head[number] /= sum;
}

// Over the text before a row and the rows that lead to it, in the order of the text.
FILL_BOTH void mix(int item, const Rows& r, const Shape& s, const Attention& a, const float* scores, float* out) {
  const Row row = row_of(r, item / s.hidden);
  const int column = item % s.hidden, head = column / (s.hidden / s.heads);
  const float* const weights = scores + (static_cast<std::int64_t>(row.place) * s.heads + head) * s.positions;
  float sum = 0;
  for (int number = 0; number < s.positions; ++number)
    sum += weights[number] * key_of(a, r, s, row, near_key(row, number))[s.hidden + column];
  out[static_cast<std::int64_t>(row.place) * s.hidden + column] = sum;
}

// Keys and values of rows that have become text, in all layers. `rows`: [layer][lane][place][3 hidden].
FILL_BOTH void keep(int item, const Kept& k, const Shape& s, const float* rows, float* cache) {
  const int column = item % (2 * s.hidden), number = item / (2 * s.hidden) % k.stride;
  const int lane = item / (2 * s.hidden) / k.stride % k.lanes;
  const int layer = item / (2 * s.hidden) / k.stride / k.lanes;
  const int place = kept_row(k, lane, number), position = kept_base(k, lane) + number;
  if (place < 0 || position >= s.positions) return;
  const std::int64_t from = (static_cast<std::int64_t>(layer) * k.lanes + lane) * k.stride + place;
  const std::int64_t to = (static_cast<std::int64_t>(layer) * k.lanes + lane) * s.positions + position;
  cache[to * 2 * s.hidden + column] = rows[from * 3 * s.hidden + s.hidden + column];
}

// `table`: [vocabulary][hidden].
FILL_BOTH void head(int item, const Rows& r, const Shape& s, const float* x, const float* table, float* logits) {
  const int token = item % s.vocabulary;
  const std::int64_t place = row_of(r, item / s.vocabulary).place;
  logits[place * s.vocabulary + token] =
      fill::dot(x + place * s.hidden, table + static_cast<std::int64_t>(token) * s.hidden, s.hidden);
}

// Largest first, and of equal ones the first token.
FILL_BOTH void insert(Best& best, float value, int token) {
  for (int at = 0; at < most_guesses; ++at) {
    if (best.token[at] >= 0 && best.value[at] >= value) continue;
    const float other_value = best.value[at];
    const int other_token = best.token[at];
    best.value[at] = value, best.token[at] = token;
    value = other_value, token = other_token;
    if (token < 0) return;
  }
}

FILL_BOTH Best nothing() {
  Best best{};
  for (int at = 0; at < most_guesses; ++at) best.token[at] = -1;
  return best;
}

FILL_BOTH void best(int item, const Rows& r, const Shape& s, const float* logits, Best* parts) {
  const int count = (s.vocabulary + span - 1) / span, first = item % count * span;
  const std::int64_t place = row_of(r, item / count).place;
  const int end = first + span < s.vocabulary ? first + span : s.vocabulary;
  Best found = nothing();
  for (int token = first; token < end; ++token) insert(found, logits[place * s.vocabulary + token], token);
  parts[place * count + item % count] = found;
}

// Of a row, from its parts.
FILL_BOTH void merge(int item, const Rows& r, const Shape& s, const Best* parts, Best* merged) {
  const int place = row_of(r, item).place, count = (s.vocabulary + span - 1) / span;
  Best found = nothing();
  for (int part = 0; part < count; ++part)
    for (int at = 0; at < most_guesses; ++at) {
      const Best& other = parts[static_cast<std::int64_t>(place) * count + part];
      if (other.token[at] >= 0) insert(found, other.value[at], other.token[at]);
    }
  merged[place] = found;
}

}  // namespace generate
