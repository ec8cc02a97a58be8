// GPU code of the image job. See kernels.h. Threads stride over the pixels of the results.
#include "kernels.h"

using fill::first_item;
using fill::stride;

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

void launch_resample(const Launch& to, const Shape& s, Rows rows, const Sources& from, std::uint8_t* results) {
  const int count = items::resample(s, rows);
  images_resample<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, rows, from, results);
}

void launch_mark(const Launch& to, const Shape& s, const Sources& from, const std::uint8_t* picture,
                 std::uint8_t* results) {
  const int count = items::mark(s);
  images_mark<<<blocks_for(to, count), threads_for(to, count), 0, to.stream>>>(s, from, picture, results);
}

}  // namespace images
