// The kernels of the decoding job, launched with grids that leave multiprocessors free. GPU code in generate.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of gpt.h and tree.h.
#pragma once

#include "../launch.h"
#include "gpt.h"
#include "rows.h"
#include "tree.h"

namespace generate {

using fill::Launch;

void launch_plan(const Launch& to, const Texts& t);
void launch_embed(const Launch& to, const Rows& r, const Shape& s, const float* table, const float* positions,
                  float* x);
void launch_normalise(const Launch& to, const Rows& r, int width, const float* gain, const float* bias, const float* x,
                      float* out);
void launch_linear(const Launch& to, const Rows& r, const Linear& l, const float* x, const float* w, const float* bias,
                   float* y);
void launch_scores(const Launch& to, const Rows& r, const Shape& s, const Attention& a, float* scores);
void launch_softmax(const Launch& to, const Rows& r, const Shape& s, float* scores);
void launch_mix(const Launch& to, const Rows& r, const Shape& s, const Attention& a, const float* scores, float* out);
void launch_keep(const Launch& to, const Kept& k, const Shape& s, const float* rows, float* cache);
void launch_head(const Launch& to, const Rows& r, const Shape& s, const float* x, const float* table, float* logits);
void launch_best(const Launch& to, const Rows& r, const Shape& s, const float* logits, Best* parts);
void launch_merge(const Launch& to, const Rows& r, const Shape& s, const Best* parts, Best* merged);
void launch_guess(const Launch& to, const Texts& t, const Shape& s, int draft, int level, const Best* found, int* rows);
void launch_accept(const Launch& to, const Texts& t, const Best* best);
void launch_decide(const Launch& to, const Texts& t);

}  // namespace generate
