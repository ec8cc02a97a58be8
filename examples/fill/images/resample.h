// The arithmetic of the image job, one number at a time, in whole numbers: compiled by nvcc for the GPU and by the
// host's compiler for the simulated one.
//
// Called by the kernels in images.cu, by those in sim_kernels.cpp, and by the job's check of its results. A pixel is
// the mean of those around its place in the source, weighted by a tent: as wide as two pixels of the source or of the
// result, whichever are larger. That is bilinear interpolation where an image grows, and smooth where it shrinks. Sums
// are exact and rounded once, so their order does not matter.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define IMAGES_BOTH __host__ __device__ inline
#else
#define IMAGES_BOTH inline
#endif

namespace images {

constexpr int colours = 3, channels_of_mark = 4;
constexpr int longest_source_side = 65500;
constexpr int least_side = 8, most_side = 8192;  // of a result: with these, sums of the largest source fit 63 bits

struct Shape {
  int batch = 0, height = 0, width = 0;  // images of a unit, and the size of a result
  int most_bytes = 0;                    // of one source
  int mark_height = 0, mark_width = 0, opacity = 0;
};

// The sources of a unit.
struct Sources {
  const std::uint8_t* pixels = nullptr;
  const std::uint32_t* lengths = nullptr;
  const std::int32_t* sizes = nullptr;  // height and width of each
};

// Some rows of the result of each image.
struct Rows {
  int first = 0, count = 0;
};

// The pixels of one dimension that count for place `to` of `result_size`: their weights are above zero.
struct Tent {
  int first = 0, end = 0, centre = 0, reach = 0, pitch = 0;

  IMAGES_BOTH Tent(int to, int result_size, int source_size)
      : centre((2 * to + 1) * source_size),
        reach(2 * (source_size > result_size ? source_size : result_size)),
        pitch(result_size) {
    const int low = centre - reach, high = centre + reach;
    first = low < 0 ? 0 : (low / pitch + 1) / 2;
    end = (high + pitch - 1) / pitch / 2;
    if (end > source_size) end = source_size;
  }
  IMAGES_BOTH int weight(int at) const {
    const int distance = centre - (2 * at + 1) * pitch;
    return reach - (distance < 0 ? -distance : distance);
  }
};

struct Size {
  int height = 0, width = 0;
};

// An image that could not be decoded has none. Where the size does not go with the pixels, it is a square of so many:
// while Weft measures the job, records have the largest length and any size, and no real image should take longer.
// Nothing is read out of bounds, whatever the records say.
IMAGES_BOTH Size size_of(const Sources& from, int record) {
  const std::int64_t height = from.sizes[2 * record], width = from.sizes[2 * record + 1];
  const auto pixels = static_cast<std::int64_t>(from.lengths[record] / colours);
  if (height <= 0 || width <= 0 || pixels == 0) return {};
  if (height <= longest_source_side && width <= longest_source_side && height * width == pixels)
    return {static_cast<int>(height), static_cast<int>(width)};
  int side = static_cast<int>(sqrtf(static_cast<float>(pixels)));
  while (static_cast<std::int64_t>(side) * side > pixels) --side;
  return {side, side};
}

// One colour of one pixel of a result.
IMAGES_BOTH std::uint8_t resampled(const Shape& s, const Sources& from, int record, int row, int column, int colour) {
  const Size size = size_of(from, record);
  if (size.height == 0) return 0;
  const Tent rows(row, s.height, size.height), columns(column, s.width, size.width);
  const std::uint8_t* const image = from.pixels + static_cast<std::int64_t>(record) * s.most_bytes + colour;
  std::int64_t sum = 0, all = 0;
  for (int y = rows.first; y < rows.end; ++y) {
    const std::uint8_t* number = image + colours * (static_cast<std::int64_t>(y) * size.width + columns.first);
    std::int64_t sum_of_row = 0, all_of_row = 0;
    for (int x = columns.first; x < columns.end; ++x, number += colours) {
      const int weight = columns.weight(x);
      sum_of_row += weight * *number;
      all_of_row += weight;
    }
    sum += rows.weight(y) * sum_of_row;
    all += rows.weight(y) * all_of_row;
  }
  return static_cast<std::uint8_t>((sum + all / 2) / all);
}

IMAGES_BOTH std::int64_t place_in_results(const Shape& s, int record, int row, int column) {
  return colours * ((static_cast<std::int64_t>(record) * s.height + row) * s.width + column);
}

// The kernels' items: from 0 to below the number that the function of the same name in `items` gives.
namespace items {
IMAGES_BOTH int resample(const Shape& s, Rows rows) {
  return s.batch * rows.count * s.width * colours;
}
IMAGES_BOTH int mark(const Shape& s) {
  return s.batch * s.mark_height * s.mark_width;
}
}  // namespace items

IMAGES_BOTH void resample(int item, const Shape& s, Rows rows, const Sources& from, std::uint8_t* results) {
  const int colour = item % colours, column = item / colours % s.width;
  const int row = rows.first + item / (colours * s.width) % rows.count;
  const int record = item / (colours * s.width * rows.count);
  results[place_in_results(s, record, row, column) + colour] = resampled(s, from, record, row, column, colour);
}

// A pixel of the watermark over that of the result, at the lower right corner. An image without pixels stays black.
IMAGES_BOTH void mark(int item, const Shape& s, const Sources& from, const std::uint8_t* picture,
                      std::uint8_t* results) {
  const int column = item % s.mark_width, row = item / s.mark_width % s.mark_height;
  const int record = item / (s.mark_width * s.mark_height);
  if (size_of(from, record).height == 0) return;
  const std::uint8_t* const over = picture + channels_of_mark * (row * s.mark_width + column);
  std::uint8_t* const pixel =
      results + place_in_results(s, record, s.height - s.mark_height + row, s.width - s.mark_width + column);
  constexpr int full = 255 * 100;
  const int cover = over[3] * s.opacity;
  for (int colour = 0; colour < colours; ++colour)
    pixel[colour] =
        static_cast<std::uint8_t>((pixel[colour] * (full - cover) + over[colour] * cover + full / 2) / full);
}

}  // namespace images
