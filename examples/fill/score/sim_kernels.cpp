// Effect and cost of the scoring job's kernels on the simulated GPU: the functions of encoder.h, and their operations
// and bytes. See sim/include/simgpu/kernels.h.
#include "encoder.h"
#include "simgpu/kernels.h"

namespace {

using score::Linear;
using score::Shape;
using Lengths = const std::uint32_t*;

void embed(const simgpu_launch&, Shape s, const int* tokens, const float* table, const float* positions, float* x) {
  for (int i = 0; i < score::items::embed(s); ++i) score::embed(i, s, tokens, table, positions, x);
}
simgpu_cost embed_cost(const simgpu_launch&, Shape s, const int*, const float*, const float*, float*) {
  return {1.0 * score::items::embed(s), 12.0 * score::items::embed(s)};
}

void linear(const simgpu_launch&, Linear l, const float* x, const float* w, const float* bias, float* y) {
  for (int i = 0; i < score::items::linear(l); ++i) score::linear(i, l, x, w, bias, y);
}
simgpu_cost linear_cost(const simgpu_launch&, Linear l, const float*, const float*, const float*, float*) {
  return {2.0 * l.rows * l.in * l.out, 4.0 * (1.0 * l.rows * l.in + 1.0 * l.in * l.out + 1.0 * l.rows * l.out)};
}

void scores(const simgpu_launch&, Shape s, const float* projected, Lengths lengths, float* out) {
  for (int i = 0; i < score::items::scores(s); ++i) score::scores(i, s, projected, lengths, out);
}
simgpu_cost scores_cost(const simgpu_launch&, Shape s, const float*, Lengths, float*) {
  const double items = score::items::scores(s);
  return {2.0 * items * s.hidden / s.heads, 4.0 * items + 8.0 * s.batch * s.length * s.hidden};
}

void softmax(const simgpu_launch&, Shape s, Lengths lengths, float* values) {
  for (int i = 0; i < score::items::softmax(s); ++i) score::softmax(i, s, lengths, values);
}
simgpu_cost softmax_cost(const simgpu_launch&, Shape s, Lengths, float*) {
  return {12.0 * score::items::scores(s), 8.0 * score::items::scores(s)};
}

void mix(const simgpu_launch&, Shape s, const float* weights, const float* projected, Lengths lengths, float* out) {
  for (int i = 0; i < score::items::mix(s); ++i) score::mix(i, s, weights, projected, lengths, out);
}
simgpu_cost mix_cost(const simgpu_launch&, Shape s, const float*, const float*, Lengths, float*) {
  const double items = score::items::mix(s);
  return {2.0 * items * s.length, 4.0 * score::items::scores(s) + 8.0 * items};
}

void normalise(const simgpu_launch&, Shape s, const float* added, const float* gain, const float* bias, float* x) {
  for (int i = 0; i < score::items::normalise(s); ++i) score::normalise(i, s, added, gain, bias, x);
}
simgpu_cost normalise_cost(const simgpu_launch&, Shape s, const float*, const float*, const float*, float*) {
  const double numbers = 1.0 * score::items::normalise(s) * s.hidden;
  return {8.0 * numbers, 12.0 * numbers};
}

void pool(const simgpu_launch&, Shape s, const float* x, Lengths lengths, float* out) {
  for (int i = 0; i < score::items::pool(s); ++i) score::pool(i, s, x, lengths, out);
}
simgpu_cost pool_cost(const simgpu_launch&, Shape s, const float*, Lengths, float*) {
  const double numbers = 1.0 * score::items::pool(s) * s.length;
  return {numbers, 4.0 * numbers};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<embed, embed_cost>("score_embed"),    simgpu::kernel<linear, linear_cost>("score_linear"),
    simgpu::kernel<scores, scores_cost>("score_scores"), simgpu::kernel<softmax, softmax_cost>("score_softmax"),
    simgpu::kernel<mix, mix_cost>("score_mix"),          simgpu::kernel<normalise, normalise_cost>("score_normalise"),
    simgpu::kernel<pool, pool_cost>("score_pool"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 7, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
