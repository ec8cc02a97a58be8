// GPU code of the decoding job. See kernels.h. Threads stride over the results.
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

using namespace generate;

extern "C" {

__global__ void generate_plan(Texts t) {
  for (int i = first_item(); i < t.lanes; i += stride()) plan(i, t);
}

__global__ void generate_embed(Rows r, Shape s, const float* table, const float* positions, float* x) {
  for (int i = first_item(); i < items::embed(r, s); i += stride()) embed(i, r, s, table, positions, x);
}

__global__ void generate_normalise(Rows r, int width, const float* gain, const float* bias, const float* x,
                                   float* out) {
  for (int i = first_item(); i < items::normalise(r); i += stride()) normalise(i, r, width, gain, bias, x, out);
}

__global__ void generate_linear(Rows r, Linear l, const float* x, const float* w, const float* bias, float* y) {
  for (int i = first_item(); i < items::linear<1>(r, l); i += stride()) linear<1>(i, r, l, x, w, bias, y);
}

__global__ void generate_scores(Rows r, Shape s, Attention a, float* out) {
  for (int i = first_item(); i < items::scores(r, s); i += stride()) scores(i, r, s, a, out);
}

__global__ void generate_softmax(Rows r, Shape s, float* values) {
  for (int i = first_item(); i < items::softmax(r, s); i += stride()) softmax(i, r, s, values);
}

__global__ void generate_mix(Rows r, Shape s, Attention a, const float* weights, float* out) {
  for (int i = first_item(); i < items::mix(r, s); i += stride()) mix(i, r, s, a, weights, out);
}

__global__ void generate_keep(Kept k, Shape s, const float* rows, float* cache) {
  for (int i = first_item(); i < items::keep(k, s); i += stride()) keep(i, k, s, rows, cache);
}

__global__ void generate_head(Rows r, Shape s, const float* x, const float* table, float* logits) {
  for (int i = first_item(); i < items::head(r, s); i += stride()) head(i, r, s, x, table, logits);
}

__global__ void generate_best(Rows r, Shape s, const float* logits, Best* parts) {
  for (int i = first_item(); i < items::best(r, s); i += stride()) best(i, r, s, logits, parts);
}

__global__ void generate_guess(Texts t, Shape s, int draft, int level, const Best* parts, int* rows) {
  for (int i = first_item(); i < t.lanes; i += stride()) guess(i, t, s, draft, level, parts, rows);
}

__global__ void generate_accept(Texts t, Shape s, const Best* parts) {
  for (int i = first_item(); i < t.lanes; i += stride()) accept(i, t, s, parts);
}

__global__ void generate_decide(Texts t) {
  if (first_item() == 0) decide(t);
}

}  // extern "C"

namespace generate {
namespace {

constexpr int threads = 32;  // many blocks, and so short kernels, also for little work
constexpr int few = 4;       // of kernels with a thread for a whole row

int blocks_for(const Launch& to, int items, int of_block = threads) {
  const int wanted = (items + of_block - 1) / of_block;
  return wanted < to.blocks ? wanted : to.blocks;
}

}  // namespace

void launch_plan(const Launch& to, const Texts& t) {
  generate_plan<<<blocks_for(to, t.lanes), threads, 0, to.stream>>>(t);
}

void launch_embed(const Launch& to, const Rows& r, const Shape& s, const float* table, const float* positions,
                  float* x) {
  generate_embed<<<blocks_for(to, items::embed(r, s)), threads, 0, to.stream>>>(r, s, table, positions, x);
}

void launch_normalise(const Launch& to, const Rows& r, int width, const float* gain, const float* bias, const float* x,
                      float* out) {
  generate_normalise<<<blocks_for(to, items::normalise(r), few), few, 0, to.stream>>>(r, width, gain, bias, x, out);
}

void launch_linear(const Launch& to, const Rows& r, const Linear& l, const float* x, const float* w, const float* bias,
                   float* y) {
  generate_linear<<<blocks_for(to, items::linear<1>(r, l)), threads, 0, to.stream>>>(r, l, x, w, bias, y);
}

void launch_scores(const Launch& to, const Rows& r, const Shape& s, const Attention& a, float* scores) {
  generate_scores<<<blocks_for(to, items::scores(r, s)), threads, 0, to.stream>>>(r, s, a, scores);
}

void launch_softmax(const Launch& to, const Rows& r, const Shape& s, float* scores) {
  generate_softmax<<<blocks_for(to, items::softmax(r, s), few), few, 0, to.stream>>>(r, s, scores);
}

void launch_mix(const Launch& to, const Rows& r, const Shape& s, const Attention& a, const float* scores, float* out) {
  generate_mix<<<blocks_for(to, items::mix(r, s)), threads, 0, to.stream>>>(r, s, a, scores, out);
}

void launch_keep(const Launch& to, const Kept& k, const Shape& s, const float* rows, float* cache) {
  generate_keep<<<blocks_for(to, items::keep(k, s)), threads, 0, to.stream>>>(k, s, rows, cache);
}

void launch_head(const Launch& to, const Rows& r, const Shape& s, const float* x, const float* table, float* logits) {
  generate_head<<<blocks_for(to, items::head(r, s)), threads, 0, to.stream>>>(r, s, x, table, logits);
}

void launch_best(const Launch& to, const Rows& r, const Shape& s, const float* logits, Best* parts) {
  generate_best<<<blocks_for(to, items::best(r, s), few), few, 0, to.stream>>>(r, s, logits, parts);
}

void launch_guess(const Launch& to, const Texts& t, const Shape& s, int draft, int level, const Best* parts,
                  int* rows) {
  generate_guess<<<blocks_for(to, t.lanes), threads, 0, to.stream>>>(t, s, draft, level, parts, rows);
}

void launch_accept(const Launch& to, const Texts& t, const Shape& s, const Best* parts) {
  generate_accept<<<blocks_for(to, t.lanes), threads, 0, to.stream>>>(t, s, parts);
}

void launch_decide(const Launch& to, const Texts& t) {
  generate_decide<<<1, threads, 0, to.stream>>>(t);
}

}  // namespace generate
