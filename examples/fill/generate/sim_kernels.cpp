// Effect and cost of the decoding job's kernels on the simulated GPU: the functions of gpt.h and tree.h, and their
// operations and bytes, which do not depend on how long the texts are. See sim/include/simgpu/kernels.h.
#include "gpt.h"
#include "rows.h"
#include "simgpu/kernels.h"
#include "tree.h"

namespace {

using generate::Attention;
using generate::Best;
using generate::Kept;
using generate::Linear;
using generate::Rows;
using generate::Shape;
using generate::Texts;
namespace items = generate::items;

void plan(const simgpu_launch&, Texts t) {
  for (int i = 0; i < t.lanes; ++i) generate::plan(i, t);
}
simgpu_cost plan_cost(const simgpu_launch&, Texts t) {
  return {4.0 * t.lanes * t.stride, 16.0 * t.lanes * t.stride};
}

void embed(const simgpu_launch&, Rows r, Shape s, const float* table, const float* positions, float* x) {
  for (int i = 0; i < items::embed(r, s); ++i) generate::embed(i, r, s, table, positions, x);
}
simgpu_cost embed_cost(const simgpu_launch&, Rows r, Shape s, const float*, const float*, float*) {
  return {1.0 * items::embed(r, s), 12.0 * items::embed(r, s)};
}

void normalise(const simgpu_launch&, Rows r, int width, const float* gain, const float* bias, const float* x,
               float* out) {
  for (int i = 0; i < items::normalise(r); ++i) generate::normalise(i, r, width, gain, bias, x, out);
}
simgpu_cost normalise_cost(const simgpu_launch&, Rows r, int width, const float*, const float*, const float*, float*) {
  return {8.0 * r.count() * width, 16.0 * r.count() * width};
}

void linear(const simgpu_launch&, Rows r, Linear l, const float* x, const float* w, const float* bias, float* y) {
  constexpr int beside = 8;
  for (int i = 0; i < items::linear<beside>(r, l); ++i) generate::linear<beside>(i, r, l, x, w, bias, y);
}
simgpu_cost linear_cost(const simgpu_launch&, Rows r, Linear l, const float*, const float*, const float*, float*) {
  return {2.0 * r.count() * l.in * l.out, 4.0 * (1.0 * l.in * l.out + 1.0 * r.count() * (l.in + l.out))};
}

void scores(const simgpu_launch&, Rows r, Shape s, Attention a, float* out) {
  for (int i = 0; i < items::scores(r, s); ++i) generate::scores(i, r, s, a, out);
}
simgpu_cost scores_cost(const simgpu_launch&, Rows r, Shape s, Attention, float*) {
  return {2.0 * items::mix(r, s) * s.positions, 4.0 * (1.0 * items::mix(r, s) * s.positions + items::scores(r, s))};
}

void softmax(const simgpu_launch&, Rows r, Shape s, float* values) {
  for (int i = 0; i < items::softmax(r, s); ++i) generate::softmax(i, r, s, values);
}
simgpu_cost softmax_cost(const simgpu_launch&, Rows r, Shape s, float*) {
  return {12.0 * items::scores(r, s), 8.0 * items::scores(r, s)};
}

void mix(const simgpu_launch&, Rows r, Shape s, Attention a, const float* weights, float* out) {
  for (int i = 0; i < items::mix(r, s); ++i) generate::mix(i, r, s, a, weights, out);
}
simgpu_cost mix_cost(const simgpu_launch&, Rows r, Shape s, Attention, const float*, float*) {
  return {2.0 * items::mix(r, s) * s.positions, 4.0 * (1.0 * items::mix(r, s) * s.positions + items::scores(r, s))};
}

void keep(const simgpu_launch&, Kept k, Shape s, const float* rows, float* cache) {
  for (int i = 0; i < items::keep(k, s); ++i) generate::keep(i, k, s, rows, cache);
}
simgpu_cost keep_cost(const simgpu_launch&, Kept k, Shape s, const float*, float*) {
  return {1.0 * items::keep(k, s), 8.0 * items::keep(k, s)};
}

void head(const simgpu_launch&, Rows r, Shape s, const float* x, const float* table, float* logits) {
  for (int i = 0; i < items::head(r, s); ++i) generate::head(i, r, s, x, table, logits);
}
simgpu_cost head_cost(const simgpu_launch&, Rows r, Shape s, const float*, const float*, float*) {
  const double table = 1.0 * s.vocabulary * s.hidden;
  return {2.0 * r.count() * table, 4.0 * (table + 1.0 * r.count() * (s.vocabulary + s.hidden))};
}

void best(const simgpu_launch&, Rows r, Shape s, const float* logits, Best* parts) {
  for (int i = 0; i < items::best(r, s); ++i) generate::best(i, r, s, logits, parts);
}
simgpu_cost best_cost(const simgpu_launch&, Rows r, Shape s, const float*, Best*) {
  return {2.0 * items::head(r, s), 4.0 * items::head(r, s)};
}

void merge(const simgpu_launch&, Rows r, Shape s, const Best* parts, Best* merged) {
  for (int i = 0; i < items::merge(r); ++i) generate::merge(i, r, s, parts, merged);
}
simgpu_cost merge_cost(const simgpu_launch&, Rows r, Shape s, const Best*, Best*) {
  const double looked_at = 1.0 * items::best(r, s) * generate::most_guesses;
  return {2.0 * looked_at, 8.0 * looked_at};
}

void guess(const simgpu_launch&, Texts t, Shape s, int draft, int level, const Best* found, int* rows) {
  for (int i = 0; i < t.lanes; ++i) generate::guess(i, t, s, draft, level, found, rows);
}
simgpu_cost guess_cost(const simgpu_launch&, Texts t, Shape, int, int, const Best*, int*) {
  return {4.0 * t.lanes * t.tree.width, 12.0 * t.lanes * t.tree.width};
}

void accept(const simgpu_launch&, Texts t, const Best* best) {
  for (int i = 0; i < t.lanes; ++i) generate::accept(i, t, best);
}
simgpu_cost accept_cost(const simgpu_launch&, Texts t, const Best*) {
  return {2.0 * t.lanes * t.stride, 12.0 * t.lanes * t.stride};
}

void decide(const simgpu_launch&, Texts t) {
  generate::decide(t);
}
simgpu_cost decide_cost(const simgpu_launch&, Texts t) {
  return {1.0 * t.lanes, 44.0 * t.lanes};
}

constexpr simgpu_kernel kernel_table[] = {
    simgpu::kernel<plan, plan_cost>("generate_plan"),
    simgpu::kernel<embed, embed_cost>("generate_embed"),
    simgpu::kernel<normalise, normalise_cost>("generate_normalise"),
    simgpu::kernel<linear, linear_cost>("generate_linear"),
    simgpu::kernel<scores, scores_cost>("generate_scores"),
    simgpu::kernel<softmax, softmax_cost>("generate_softmax"),
    simgpu::kernel<mix, mix_cost>("generate_mix"),
    simgpu::kernel<keep, keep_cost>("generate_keep"),
    simgpu::kernel<head, head_cost>("generate_head"),
    simgpu::kernel<best, best_cost>("generate_best"),
    simgpu::kernel<merge, merge_cost>("generate_merge"),
    simgpu::kernel<guess, guess_cost>("generate_guess"),
    simgpu::kernel<accept, accept_cost>("generate_accept"),
    simgpu::kernel<decide, decide_cost>("generate_decide"),
};

constexpr simgpu_kernel_list list{sizeof(simgpu_kernel_list), 14, kernel_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const simgpu_kernel_list* simgpu_kernel_table(void) {
  return &list;
}
