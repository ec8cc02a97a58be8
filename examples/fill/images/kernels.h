// The kernels of the image job, launched with grids that leave multiprocessors free. GPU code in images.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of resample.h.
#pragma once

#include "../launch.h"
#include "resample.h"

namespace images {

using fill::Launch;

void launch_resample(const Launch& to, const Shape& s, Rows rows, const Sources& from, std::uint8_t* results);
void launch_mark(const Launch& to, const Shape& s, const Sources& from, const std::uint8_t* picture,
                 std::uint8_t* results);

}  // namespace images
