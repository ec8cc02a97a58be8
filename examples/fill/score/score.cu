// GPU code of the scoring job. See kernels.h. Threads stride over the results.
#include "kernels.h"

namespace {

// Of one dimension.
__device__ int first_item() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
__device__ int stride() {
  return static_cast<int>(gridDim.x * blockDim.x);
}

}  // namespace

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
namespace {

constexpr int threads = 32;  // many blocks, and so short kernels, also for little work

int blocks_for(const Launch& to, int items) {
  const int wanted = (items + threads - 1) / threads;
  return wanted < to.blocks ? wanted : to.blocks;
}

}  // namespace

void launch_embed(const Launch& to, const Shape& s, const int* tokens, const float* table, const float* positions,
                  float* x) {
  score_embed<<<blocks_for(to, items::embed(s)), threads, 0, to.stream>>>(s, tokens, table, positions, x);
}

void launch_linear(const Launch& to, const Linear& l, const float* x, const float* w, const float* bias, float* y) {
  score_linear<<<blocks_for(to, items::linear(l)), threads, 0, to.stream>>>(l, x, w, bias, y);
}

void launch_scores(const Launch& to, const Shape& s, const float* projected, const std::uint32_t* lengths, float* out) {
  score_scores<<<blocks_for(to, items::scores(s)), threads, 0, to.stream>>>(s, projected, lengths, out);
}

void launch_softmax(const Launch& to, const Shape& s, const std::uint32_t* lengths, float* values) {
  score_softmax<<<blocks_for(to, items::softmax(s)), threads, 0, to.stream>>>(s, lengths, values);
}

void launch_mix(const Launch& to, const Shape& s, const float* weights, const float* projected,
                const std::uint32_t* lengths, float* out) {
  score_mix<<<blocks_for(to, items::mix(s)), threads, 0, to.stream>>>(s, weights, projected, lengths, out);
}

void launch_normalise(const Launch& to, const Shape& s, const float* added, const float* gain, const float* bias,
                      float* x) {
  score_normalise<<<blocks_for(to, items::normalise(s)), threads, 0, to.stream>>>(s, added, gain, bias, x);
}

void launch_pool(const Launch& to, const Shape& s, const float* x, const std::uint32_t* lengths, float* out) {
  score_pool<<<blocks_for(to, items::pool(s)), threads, 0, to.stream>>>(s, x, lengths, out);
}

}  // namespace score
