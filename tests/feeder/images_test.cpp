// PNG and JPEG as the reader of folders takes them: sizes from headers, pixels, and what is refused in which words.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>

#include "feeder/files/image_header.h"
#include "feeder/files/jpeg_image.h"
#include "feeder/files/png_image.h"
#include "tests/feeder/files.h"
#include "tests/feeder/images.h"

namespace weft {
namespace {

using testing::fault_of;
using testing::jpeg_file;
using testing::picture;
using testing::png_file;

ImageSize size_of(const std::string& file) {
  return parse_image_size([&](std::uint64_t offset, std::uint64_t bytes) {
    return offset < file.size() ? file.substr(offset, bytes) : std::string();
  });
}

std::vector<std::uint8_t> decoded(const std::string& file) {
  const ImageSize size = size_of(file);
  std::vector<std::uint8_t> pixels(size.bytes());
  const auto to = std::as_writable_bytes(std::span(pixels));
  is_png(file) ? decode_png(std::as_bytes(std::span(file)), size, to)
               : decode_jpeg(std::as_bytes(std::span(file)), size, to);
  return pixels;
}

std::string big_endian(std::uint32_t value) {
  std::string text(4, '\0');
  for (int i = 0; i < 4; ++i) text[static_cast<std::size_t>(i)] = static_cast<char>(value >> (24 - 8 * i));
  return text;
}

// With another size, and the sum that goes with it.
std::string with_size(std::string png, std::uint32_t height, std::uint32_t width) {
  png.replace(16, 8, big_endian(width) + big_endian(height));
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(png.data() + 12), 17);
  png.replace(29, 4, big_endian(static_cast<std::uint32_t>(sum)));
  return png;
}

TEST(Images, SizesAreThoseOfTheHeaders) {
  EXPECT_EQ(size_of(png_file(3, 5)), (ImageSize{3, 5}));
  EXPECT_EQ(size_of(jpeg_file(30, 50)), (ImageSize{30, 50}));
  EXPECT_EQ(size_of(jpeg_file(30, 50, 1, true)), (ImageSize{30, 50}));
}

TEST(Images, AJpegHeaderMayBeLong) {
  std::string file = jpeg_file(8, 9);
  std::string parts;
  for (int i = 0; i < 40; ++i) parts += std::string("\xff\xe1\xff\xff", 4) + std::string(65533, 'x') + "\xff";
  file.insert(2, parts);
  EXPECT_EQ(size_of(file), (ImageSize{8, 9}));
}

TEST(Images, PixelsOfPngAreExact) {
  EXPECT_EQ(decoded(png_file(3, 5)), picture(3, 5));
  EXPECT_EQ(decoded(png_file(9, 11, {PNG_COLOR_TYPE_RGB, 8, true}, picture(9, 11))), picture(9, 11));
}

TEST(Images, GreyPalettesAlphaAnd16BitsBecomeRgb) {
  using Pixels = std::vector<std::uint8_t>;
  EXPECT_EQ(decoded(png_file(1, 2, {PNG_COLOR_TYPE_GRAY, 8}, {7, 200})), (Pixels{7, 7, 7, 200, 200, 200}));
  EXPECT_EQ(decoded(png_file(1, 2, {PNG_COLOR_TYPE_GRAY, 1}, {0x40})), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decoded(png_file(1, 2, {PNG_COLOR_TYPE_GRAY, 4}, {0x1f})), (Pixels{17, 17, 17, 255, 255, 255}));
  EXPECT_EQ(decoded(png_file(1, 2, {PNG_COLOR_TYPE_GRAY_ALPHA, 8}, {7, 0, 9, 255})), (Pixels{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(decoded(png_file(1, 1, {PNG_COLOR_TYPE_RGB_ALPHA, 8}, {1, 2, 3, 0})), (Pixels{1, 2, 3}));
  EXPECT_EQ(decoded(png_file(1, 1, {PNG_COLOR_TYPE_RGB, 16}, {1, 255, 2, 255, 3, 255})), (Pixels{1, 2, 3}));
  EXPECT_EQ(decoded(png_file(1, 2, {PNG_COLOR_TYPE_PALETTE, 8}, {1, 0}, {{9, 8, 7}, {1, 2, 3}})),
            (Pixels{1, 2, 3, 9, 8, 7}));
}

double mean_distance(const std::vector<std::uint8_t>& one, const std::vector<std::uint8_t>& other) {
  EXPECT_EQ(one.size(), other.size());
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(one[i] - other[i]);
  return sum / static_cast<double>(one.size());
}

// The test picture is noise to JPEG's eyes where it wraps, so it is compared in a part that does not.
TEST(Images, PixelsOfJpegAreNear) {
  const auto wanted = picture(2, 2);
  for (const bool progressive : {false, true})
    EXPECT_LT(mean_distance(decoded(jpeg_file(2, 2, 3, progressive, 100)), wanted), 16);
  const auto grey = decoded(jpeg_file(2, 2, 1, false, 100));
  EXPECT_EQ(grey[0], grey[1]);
  EXPECT_EQ(grey[0], grey[2]);
  EXPECT_NEAR(grey[0], testing::sample(0, 0, 0), 3);
  EXPECT_NEAR(grey[9], testing::sample(1, 1, 0), 3);
}

// Inverted inks: 255 is none of it. The first pixel has 0, 61, 122 and 183 of white.
TEST(Images, CmykIsTakenAsAdobeWritesIt) {
  const auto pixels = decoded(jpeg_file(1, 1, 4, false, 100));
  const auto wanted = [](int ink) { return std::lround(183.0 * ink / 255); };
  EXPECT_NEAR(pixels[0], wanted(0), 3);
  EXPECT_NEAR(pixels[1], wanted(61), 3);
  EXPECT_NEAR(pixels[2], wanted(122), 3);
}

TEST(Images, HeadersThatAreNoneAreNamedAsSuch) {
  const std::string png = png_file(3, 5), jpeg = jpeg_file(3, 5);
  const auto fault = [](const std::string& file) { return fault_of([&] { size_of(file); }); };
  EXPECT_EQ(fault(""), "is empty");
  EXPECT_EQ(fault("GIF89a"), "is neither a PNG nor a JPEG image");
  EXPECT_EQ(fault(png.substr(0, 20)), "ends within its header");
  EXPECT_EQ(fault(jpeg.substr(0, 30)), "ends within its header");
  std::string damaged = png;
  damaged[17] = 1;
  EXPECT_EQ(fault(damaged), "has a damaged PNG header");
  damaged = jpeg;
  damaged[2] = 'x';
  EXPECT_EQ(fault(damaged), "is neither a PNG nor a JPEG image");
  EXPECT_EQ(fault("\xff\xd8\xff\xe0" + std::string(2, '\0') + "1234"), "has a JPEG header without a size");
  EXPECT_EQ(fault(std::string("\xff\xd8\xff\xc3\0\x0b\x08\0\x08\0\x08\x03", 12)),
            "is a lossless or hierarchical JPEG, which is not read");
  EXPECT_EQ(fault(std::string("\xff\xd8\xff\xc1\0\x0b\x0c\0\x08\0\x08\x03", 12)),
            "is a JPEG of 12 bits for each colour, and 8 are read");
  EXPECT_EQ(fault(std::string("\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\x08\x03", 12)), "has a header that says no size");
}

TEST(Images, ASizeThatNoMemoryHasIsRefused) {
  const std::string png = png_file(3, 5);
  for (const auto& [height, width] : {std::pair{65535U, 65535U}, std::pair{1U, 65501U}, std::pair{20000U, 20000U}})
    EXPECT_EQ(fault_of([&] { size_of(with_size(png, height, width)); }),
              "has " + std::to_string(width) + " x " + std::to_string(height) +
                  " pixels, and at most 134217728, and 65500 a side, are read");
  EXPECT_EQ(size_of(with_size(png, 1 << 12, 1 << 15)), (ImageSize{1 << 12, 1 << 15}));
}

TEST(Images, DataThatIsBrokenIsAnError) {
  const std::string png = png_file(30, 50), jpeg = jpeg_file(64, 64), progressive = jpeg_file(64, 64, 3, true);
  EXPECT_EQ(fault_of([&] { decoded(png.substr(0, png.size() / 2)); }), "the file ends too early");
  EXPECT_EQ(fault_of([&] { decoded(jpeg.substr(0, jpeg.size() / 2)); }), "Premature end of JPEG file");
  EXPECT_EQ(fault_of([&] { decoded(progressive.substr(0, progressive.size() / 2)); }), "Premature end of JPEG file");
  std::string flipped = png;
  flipped[flipped.size() - 24] ^= 1;  // within the data
  EXPECT_NE(fault_of([&] { decoded(flipped); }), "");
}

// Each scan costs a pass over the image.
TEST(Images, AnImageOfManyScansIsRefused) {
  const std::string file = jpeg_file(64, 64, 1, true);
  const std::size_t first = file.find("\xff\xda"), second = file.find("\xff\xc4", first);
  std::string many = file.substr(0, second);
  for (int i = 0; i < 600; ++i) many += file.substr(first, second - first);
  EXPECT_EQ(fault_of([&] { decoded(many + file.substr(second)); }), "it has more than 500 scans");
}

TEST(Images, WrittenPngIsReadAgain) {
  for (const std::uint32_t channels : {1U, 3U}) {
    const auto pixels = picture(4, 6, channels);
    const auto file = encode_png({4, 6}, channels, std::as_bytes(std::span(pixels)));
    const auto read = decoded(std::string(reinterpret_cast<const char*>(file.data()), file.size()));
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], pixels[channels == 3 ? i : i / 3]);
  }
  EXPECT_NE(fault_of([] { encode_png({4, 6}, 3, {}); }), "");
}

}  // namespace
}  // namespace weft
