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

// How many pixels of a source count for all of a result: a quarter of them, but for the borders.
IMAGES_BOTH std::int64_t counted(const Shape& s, Size size) {
  return std::int64_t{1} * (size.height > s.height ? size.height : s.height) *
         (size.width > s.width ? size.width : s.width);
}

// An image of at most so many pixels, four times as long as wide: upright or not, whichever takes longer.
IMAGES_BOTH Size elongated(const Shape& s, std::int64_t pixels) {
  int width = static_cast<int>(sqrtf(static_cast<float>(pixels) / 4));
  while (std::int64_t{4} * width * width > pixels) --width;
  while (std::int64_t{4} * (width + 1) * (width + 1) <= pixels) ++width;
  if (width == 0) return {1, 1};
  const Size upright{4 * width, width}, lying{width, 4 * width};
  return counted(s, upright) > counted(s, lying) ? upright : lying;
}

// An image that could not be decoded has none. Where the size does not go with the pixels, it is an elongated one of so
// many: while Weft measures the job, records have the largest length and the size of the first one, and no real image
// should take much longer. (Where the first one is of the largest length, it is measured as it is.) Nothing is read out
// of bounds, whatever the records say.
IMAGES_BOTH Size size_of(const Shape& s, const Sources& from, int record) {
  const std::int64_t height = from.sizes[2 * record], width = from.sizes[2 * record + 1];
  const auto pixels = static_cast<std::int64_t>(from.lengths[record] / colours);
  if (height <= 0 || width <= 0 || pixels == 0) return {};
  if (height <= longest_source_side && width <= longest_source_side && height * width == pixels)
    return {static_cast<int>(height), static_cast<int>(width)};
  return elongated(s, pixels);
}

// The pixels of a source that count for one of a result: each so manieth row and column under the tents. That is each
// one, but in an image so thin that it would take longer than an elongated one of as many pixels as the largest image
// has: of its long side some are passed over.
struct Window {
  Tent rows, columns;
  int row_step = 1, column_step = 1;

  IMAGES_BOTH Window(const Shape& s, Size size, int row, int column)
      : rows(row, s.height, size.height), columns(column, s.width, size.width) {
    const std::int64_t largest = s.most_bytes / colours, of_elongated = counted(s, elongated(s, largest));
    const std::int64_t most = of_elongated > largest ? of_elongated : largest;
    const int step = static_cast<int>((counted(s, size) + most - 1) / most);
    (size.height > size.width ? row_step : column_step) = step;
  }
  IMAGES_BOTH std::int64_t count() const {
    return std::int64_t{1} * ((rows.end - rows.first - 1) / row_step + 1) *
           ((columns.end - columns.first - 1) / column_step + 1);
  }
};

// One colour of one pixel of a result.
IMAGES_BOTH std::uint8_t mean(const Shape& s, const Sources& from, int record, Size size, const Window& window,
                              int colour) {
  const Tent &rows = window.rows, &columns = window.columns;
  const std::uint8_t* const image = from.pixels + static_cast<std::int64_t>(record) * s.most_bytes + colour;
  std::int64_t sum = 0, all = 0;
  for (int y = rows.first; y < rows.end; y += window.row_step) {
    const std::uint8_t* number = image + colours * (static_cast<std::int64_t>(y) * size.width + columns.first);
    std::int64_t sum_of_row = 0, all_of_row = 0;
    for (int x = columns.first; x < columns.end; x += window.column_step, number += colours * window.column_step) {
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
  const Size size = size_of(s, from, record);
  results[place_in_results(s, record, row, column) + colour] =
      size.height == 0 ? 0 : mean(s, from, record, size, Window(s, size, row, column), colour);
}

// A pixel of the watermark over that of the result, at the lower right corner. An image without pixels stays black.
IMAGES_BOTH void mark(int item, const Shape& s, const Sources& from, const std::uint8_t* picture,
                      std::uint8_t* results) {
  const int column = item % s.mark_width, row = item / s.mark_width % s.mark_height;
  const int record = item / (s.mark_width * s.mark_height);
  if (size_of(s, from, record).height == 0) return;
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
