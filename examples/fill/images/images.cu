// GPU code of the image job. See kernels.h. Threads stride over the pixels of the results.
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

__global__ void images_resample(images::Shape s, images::Rows rows, images::Sources from, std::uint8_t* results) {
  for (int i = first_item(); i < images::items::resample(s, rows); i += stride())
    images::resample(i, s, rows, from, results);
}

__global__ void images_mark(images::Shape s, images::Sources from, const std::uint8_t* picture, std::uint8_t* results) {
  for (int i = first_item(); i < images::items::mark(s); i += stride()) images::mark(i, s, from, picture, results);
}

}  // extern "C"

namespace images {
namespace {

constexpr int threads = 32;  // many blocks, and so short kernels, also for little work

int blocks_for(const Launch& to, int items) {
  const int wanted = (items + threads - 1) / threads;
  return wanted < to.blocks ? wanted : to.blocks;
}

}  // namespace

void launch_resample(const Launch& to, const Shape& s, Rows rows, const Sources& from, std::uint8_t* results) {
  images_resample<<<blocks_for(to, items::resample(s, rows)), threads, 0, to.stream>>>(s, rows, from, results);
}

void launch_mark(const Launch& to, const Shape& s, const Sources& from, const std::uint8_t* picture,
                 std::uint8_t* results) {
  images_mark<<<blocks_for(to, items::mark(s)), threads, 0, to.stream>>>(s, from, picture, results);
}

}  // namespace images
