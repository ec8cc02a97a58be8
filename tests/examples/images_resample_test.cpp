// The arithmetic of the image job: which pixels count and how much, the watermark, and records that are not as they
// should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "fill/images/resample.h"

namespace images {
namespace {

// One image, as a unit has it.
struct Source {
  std::vector<std::uint8_t> pixels;
  std::uint32_t length;
  std::int32_t size[2];

  Source(int height, int width, std::vector<std::uint8_t> numbers)
      : pixels(std::move(numbers)), length(static_cast<std::uint32_t>(pixels.size())), size{height, width} {}
  static Source plain(int height, int width, std::uint8_t number) {
    return {height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(colours * height * width), number)};
  }
  static Source mixed(int height, int width) {
    Source made = plain(height, width, 0);
    for (std::size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = static_cast<std::uint8_t>(i * i * 7 + i * 31);
    return made;
  }
  Sources sources() const { return {pixels.data(), &length, size}; }
};

std::vector<std::uint8_t> resampled_to(int height, int width, const Source& source) {
  Shape shape{1, height, width, static_cast<int>(source.pixels.size()), 0, 0, 0};
  std::vector<std::uint8_t> results(static_cast<std::size_t>(colours * height * width), 99);
  const Rows first{0, height / 3}, second{height / 3, height - height / 3};
  for (const Rows& rows : {first, second})
    for (int i = 0; i < items::resample(shape, rows); ++i) resample(i, shape, rows, source.sources(), results.data());
  return results;
}

TEST(ImageJob, ATentHasAllPixelsWhoseWeightIsAboveZero) {
  for (const int result : {8, 9, 64, 8192})
    for (const int source : {1, 2, 7, 8, 63, 500, 65500})
      for (const int to : {0, 1, result / 2, result - 1}) {
        const Tent tent(to, result, source);
        ASSERT_LE(0, tent.first);
        ASSERT_LT(tent.first, tent.end);
        ASSERT_LE(tent.end, source);
        for (const int at : {tent.first, tent.end - 1}) EXPECT_GT(tent.weight(at), 0);
        EXPECT_TRUE(tent.first == 0 || tent.weight(tent.first - 1) <= 0);
        EXPECT_TRUE(tent.end == source || tent.weight(tent.end) <= 0);
      }
}

TEST(ImageJob, OfTheSameSizeNothingChanges) {
  const Source source = Source::mixed(10, 13);
  EXPECT_EQ(resampled_to(10, 13, source), source.pixels);
}

TEST(ImageJob, APlainImageStaysPlain) {
  for (const auto& [height, width] : {std::pair{1, 1}, std::pair{3, 100}, std::pair{65500, 1}, std::pair{1, 65500}})
    EXPECT_EQ(resampled_to(8, 9, Source::plain(height, width, 255)), Source::plain(8, 9, 255).pixels);
}

// Against the definition, in floating point.
TEST(ImageJob, APixelIsTheMeanUnderTheTent) {
  const Source source = Source::mixed(5, 15);
  const int height = 12, width = 9;
  const auto results = resampled_to(height, width, source);
  const auto weight = [](int to, int at, int result, int from) {
    const double scale = 1.0 * from / result, reach = std::max(scale, 1.0);
    return std::max(0.0, 1 - std::abs((to + 0.5) * scale - (at + 0.5)) / reach);
  };
  for (int i = 0; i < colours * height * width; ++i) {
    double sum = 0, all = 0;
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 15; ++x) {
        const double counts = weight(i / colours / width, y, height, 5) * weight(i / colours % width, x, width, 15);
        sum += counts * source.pixels[static_cast<std::size_t>(colours * (y * 15 + x) + i % colours)];
        all += counts;
      }
    EXPECT_NEAR(results[static_cast<std::size_t>(i)], sum / all, 0.5001);
  }
}

TEST(ImageJob, AnImageWithoutPixelsIsBlackAndHasNoMark) {
  Source source = Source::plain(4, 4, 200);
  source.length = 0;
  source.size[0] = source.size[1] = 0;
  auto results = resampled_to(8, 8, source);
  const std::vector<std::uint8_t> picture(4, 255);
  const Shape shape{1, 8, 8, 48, 1, 1, 100};
  mark(0, shape, source.sources(), picture.data(), results.data());
  EXPECT_EQ(results, Source::plain(8, 8, 0).pixels);
}

// So is the unit that Weft measures: nothing behind the pixels is read, and it takes as long as a large image.
TEST(ImageJob, ASizeThatDoesNotGoWithThePixelsIsAnElongatedImageOfThem) {
  Source source = Source::plain(10, 10, 7);
  const Shape upright{1, 8, 9, 300, 0, 0, 0}, lying{1, 9, 8, 300, 0, 0, 0};
  for (const auto& [height, width] : {std::pair{11, 10}, std::pair{1, 1}, std::pair{1 << 30, 1 << 30}}) {
    source.size[0] = height;
    source.size[1] = width;
    EXPECT_EQ(size_of(upright, source.sources(), 0).height, 20);
    EXPECT_EQ(size_of(upright, source.sources(), 0).width, 5);
    EXPECT_EQ(size_of(lying, source.sources(), 0).height, 5);
    EXPECT_EQ(size_of(lying, source.sources(), 0).width, 20);
  }
  source.size[0] = -1;
  EXPECT_EQ(size_of(upright, source.sources(), 0).height, 0);
}

// How many pixels of a source count for all of a result.
std::int64_t taps(const Shape& shape, const Size& size) {
  std::int64_t all = 0;
  for (int row = 0; row < shape.height; ++row)
    for (int column = 0; column < shape.width; ++column) all += Window(shape, size, row, column).count();
  return all;
}

TEST(ImageJob, NoImageTakesMuchLongerThanTheOneThatIsMeasured) {
  for (const int pixels : {40, 2304, 65500, 8 * 65500, 3000 * 4000})
    for (const auto& [height, width] : {std::pair{8, 8}, std::pair{56, 48}, std::pair{224, 224}}) {
      const Shape shape{1, height, width, colours * pixels, 0, 0, 0};
      const std::int64_t measured = taps(shape, elongated(shape, pixels));
      for (int side = 1; side <= std::min(pixels, longest_source_side); side = side * 3 / 2 + 1) {
        const int other = std::min(pixels / side, longest_source_side);
        EXPECT_LE(taps(shape, {side, other}), measured * 3 / 2) << side << " x " << other << " to " << height;
        EXPECT_LE(taps(shape, {other, side}), measured * 3 / 2) << other << " x " << side << " to " << height;
      }
    }
}

TEST(ImageJob, AllPixelsCountInImagesThatAreNotVeryThin) {
  const Shape shape{1, 224, 224, colours * 8 * 65500, 0, 0, 0};
  for (const auto& [size, step] : {std::pair{Size{655, 800}, 1}, std::pair{Size{1440, 360}, 1},
                                   std::pair{Size{2000, 8}, 1}, std::pair{Size{65500, 8}, 28}}) {
    EXPECT_EQ(Window(shape, size, 0, 0).row_step, step);
    EXPECT_EQ(Window(shape, size, 0, 0).column_step, 1);
    EXPECT_EQ(Window(shape, {size.width, size.height}, 0, 0).column_step, step);
  }
}

TEST(ImageJob, TheMarkCoversTheCornerByItsOpacity) {
  const Source source = Source::plain(8, 8, 100);
  const std::vector<std::uint8_t> picture{200, 0, 100, 255, 200, 0, 100, 0, 200, 0, 100, 51};
  const auto marked = [&](int opacity) {
    const Shape shape{1, 8, 8, 192, 1, 3, opacity};
    auto results = source.pixels;
    for (int i = 0; i < items::mark(shape); ++i) mark(i, shape, source.sources(), picture.data(), results.data());
    for (std::size_t i = 0; i < results.size() - 9; ++i) EXPECT_EQ(results[i], 100);
    return std::vector<std::uint8_t>(results.end() - 9, results.end());
  };
  EXPECT_EQ(marked(100), (std::vector<std::uint8_t>{200, 0, 100, 100, 100, 100, 120, 80, 100}));
  EXPECT_EQ(marked(50), (std::vector<std::uint8_t>{150, 50, 100, 100, 100, 100, 110, 90, 100}));
  EXPECT_EQ(marked(0), (std::vector<std::uint8_t>(9, 100)));
}

}  // namespace
}  // namespace images
