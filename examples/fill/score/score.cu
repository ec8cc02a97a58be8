// GPU code of the scoring job. See kernels.h. Threads stride over the results.
#include "kernels.h"

using fill::first_item;
using fill::stride;

extern "C" {

__global__ void score_embed(score::Shape s, const int* tokens, const float* table, const float* positions, float* x) {
  for (int i = first_item(); i < score::items::embed(s); i += stride()) score::embed(i, s, tokens, table, positions, x);
}

__global__ void score_linear(score::Linear l, const float* x, const float* w, const float* bias, float* y) {
  for (int i = first_item(); i < score::items::linear(l); i += stride()) score::linear(i, l, x, w, bias, y);
}

__global__ void score_scores(score::Shape s, const float* projected, const std::uint32_t* lengths, float* out) {
  for (int i = first_item(); i < score::items::scores(s); i += stride()) score::scores(i, s, projected, lengths, out);
}

__global__ void score_softmax(score::Shape s, const std::uint32_t* lengths, float* values) {
  for (int i = first_item(); i < score::items::softmax(s); i += stride()) score::softmax(i, s, lengths, values);
}

__global__ void score_mix(score::Shape s, const float* weights, const float* projected, const std::uint32_t* lengths,
                          float* out) {
  for (int i = first_item(); i < score::items::mix(s); i += stride())
    score::mix(i, s, weights, projected, lengths, out);
}

__global__ void score_normalise(score::Shape s, const float* added, const float* gain, const float* bias, float* x) {
  for (int i = first_item(); i < score::items::normalise(s); i += stride())
    score::normalise(i, s, added, gain, bias, x);
}

__global__ void score_pool(score::Shape s, const float* x, const std::uint32_t* lengths, float* out) {
  for (int i = first_item(); i < score::items::pool(s); i += stride()) score::pool(i, s, x, lengths, out);
}

}  // extern "C"

namespace score {

void launch_embed(const Launch& to, const Shape& s, const int* tokens, const float* table, const float* positions,
                  float* x) {
  const int count = items::embed(s);
  score_embed<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, tokens, table, positions, x);
}

void launch_linear(const Launch& to, const Linear& l, const float* x, const float* w, const float* bias, float* y) {
  const int count = items::linear(l);
  score_linear<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(l, x, w, bias, y);
}

void launch_scores(const Launch& to, const Shape& s, const float* projected, const std::uint32_t* lengths, float* out) {
  const int count = items::scores(s);
  score_scores<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, projected, lengths, out);
}

void launch_softmax(const Launch& to, const Shape& s, const std::uint32_t* lengths, float* values) {
  const int count = items::softmax(s);
  score_softmax<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, lengths, values);
}

void launch_mix(const Launch& to, const Shape& s, const float* weights, const float* projected,
                const std::uint32_t* lengths, float* out) {
  const int count = items::mix(s);
  score_mix<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, weights, projected, lengths, out);
}

void launch_normalise(const Launch& to, const Shape& s, const float* added, const float* gain, const float* bias,
                      float* x) {
  const int count = items::normalise(s);
  score_normalise<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, added, gain, bias, x);
}

void launch_pool(const Launch& to, const Shape& s, const float* x, const std::uint32_t* lengths, float* out) {
  const int count = items::pool(s);
  score_pool<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, x, lengths, out);
}

}  // namespace score
