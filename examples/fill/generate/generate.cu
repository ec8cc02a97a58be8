// GPU code of the decoding job. See kernels.h. Threads stride over the results.
#include "kernels.h"

using fill::first_item;
using fill::stride;

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

__global__ void generate_merge(Rows r, Shape s, const Best* parts, Best* merged) {
  for (int i = first_item(); i < items::merge(r); i += stride()) merge(i, r, s, parts, merged);
}

__global__ void generate_guess(Texts t, Shape s, int draft, int level, const Best* found, int* rows) {
  for (int i = first_item(); i < t.lanes; i += stride()) guess(i, t, s, draft, level, found, rows);
}

__global__ void generate_accept(Texts t, const Best* best) {
  for (int i = first_item(); i < t.lanes; i += stride()) accept(i, t, best);
}

__global__ void generate_decide(Texts t) {
  if (first_item() == 0) decide(t);
}

}  // extern "C"

namespace generate {

void launch_plan(const Launch& to, const Texts& t) {
  const int count = t.lanes;
  generate_plan<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(t);
}

void launch_embed(const Launch& to, const Rows& r, const Shape& s, const float* table, const float* positions,
                  float* x) {
  const int count = items::embed(r, s);
  generate_embed<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, table, positions, x);
}

void launch_normalise(const Launch& to, const Rows& r, int width, const float* gain, const float* bias, const float* x,
                      float* out) {
  const int count = items::normalise(r);
  generate_normalise<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, width, gain, bias, x, out);
}

void launch_linear(const Launch& to, const Rows& r, const Linear& l, const float* x, const float* w, const float* bias,
                   float* y) {
  const int count = items::linear<1>(r, l);
  generate_linear<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, l, x, w, bias, y);
}

void launch_scores(const Launch& to, const Rows& r, const Shape& s, const Attention& a, float* scores) {
  const int count = items::scores(r, s);
  generate_scores<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, a, scores);
}

void launch_softmax(const Launch& to, const Rows& r, const Shape& s, float* scores) {
  const int count = items::softmax(r, s);
  generate_softmax<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, scores);
}

void launch_mix(const Launch& to, const Rows& r, const Shape& s, const Attention& a, const float* scores, float* out) {
  const int count = items::mix(r, s);
  generate_mix<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, a, scores, out);
}

void launch_keep(const Launch& to, const Kept& k, const Shape& s, const float* rows, float* cache) {
  const int count = items::keep(k, s);
  generate_keep<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(k, s, rows, cache);
}

void launch_head(const Launch& to, const Rows& r, const Shape& s, const float* x, const float* table, float* logits) {
  const int count = items::head(r, s);
  generate_head<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, x, table, logits);
}

void launch_best(const Launch& to, const Rows& r, const Shape& s, const float* logits, Best* parts) {
  const int count = items::best(r, s);
  generate_best<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, logits, parts);
}

void launch_merge(const Launch& to, const Rows& r, const Shape& s, const Best* parts, Best* merged) {
  const int count = items::merge(r);
  generate_merge<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(r, s, parts, merged);
}

void launch_guess(const Launch& to, const Texts& t, const Shape& s, int draft, int level, const Best* found,
                  int* rows) {
  const int count = t.lanes;
  generate_guess<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(t, s, draft, level, found, rows);
}

void launch_accept(const Launch& to, const Texts& t, const Best* best) {
  const int count = t.lanes;
  generate_accept<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(t, best);
}

void launch_decide(const Launch& to, const Texts& t) {
  generate_decide<<<1, 1, 0, to.stream>>>(t);
}

}  // namespace generate
