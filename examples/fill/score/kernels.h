// The kernels of the scoring job, launched with grids that leave multiprocessors free. GPU code in score.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of encoder.h.
#pragma once

#include "../launch.h"
#include "encoder.h"

namespace score {

using fill::Launch;

void launch_embed(const Launch& to, const Shape& s, const int* tokens, const float* table, const float* positions,
                  float* x);
void launch_linear(const Launch& to, const Linear& l, const float* x, const float* w, const float* bias, float* y);
void launch_scores(const Launch& to, const Shape& s, const float* projected, const std::uint32_t* lengths, float* out);
void launch_softmax(const Launch& to, const Shape& s, const std::uint32_t* lengths, float* values);
void launch_mix(const Launch& to, const Shape& s, const float* weights, const float* projected,
                const std::uint32_t* lengths, float* out);
void launch_normalise(const Launch& to, const Shape& s, const float* added, const float* gain, const float* bias,
                      float* x);
void launch_pool(const Launch& to, const Shape& s, const float* x, const std::uint32_t* lengths, float* out);

}  // namespace score
