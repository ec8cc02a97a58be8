// The kernels of the image job, launched with grids that leave multiprocessors free. GPU code in images.cu, the
// simulated GPU's in sim_kernels.cpp; both run the functions of resample.h.
#pragma once

#include <cuda_runtime_api.h>

#include "resample.h"

namespace images {

struct Launch {
  int blocks = 0;  // at most
  cudaStream_t stream = nullptr;
};

void launch_resample(const Launch& to, const Shape& s, Rows rows, const Sources& from, std::uint8_t* results);
void launch_mark(const Launch& to, const Shape& s, const Sources& from, const std::uint8_t* picture,
                 std::uint8_t* results);

}  // namespace images
