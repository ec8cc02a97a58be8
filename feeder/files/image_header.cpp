// See image_header.h. Formats: the PNG specification, third edition; ITU-T T.81 for JPEG.
#include "feeder/files/image_header.h"

#include <zlib.h>

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace weft {
namespace {

constexpr std::string_view png_magic("\x89PNG\r\n\x1a\n", 8), jpeg_magic = "\xff\xd8\xff";
constexpr std::uint64_t longest_jpeg_header = 16 << 20;  // with previews and colour profiles

[[noreturn]] void fail(const std::string& why) {
  throw std::invalid_argument(why);
}

// A few bytes at any place, out of parts that are read as they are needed.
class Window {
 public:
  explicit Window(const ReadPart& read) : read_(read), part_(read(0, part_bytes)) {}

  const std::string& begin() const { return part_; }  // before anything else is read
  std::uint32_t big_endian(std::uint64_t offset, std::size_t bytes) {
    if (offset < first_ || offset + bytes > first_ + part_.size()) {
      part_ = read_(offset, part_bytes);
      first_ = offset;
    }
    if (part_.size() < bytes) fail("ends within its header");
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(part_[offset - first_ + i]);
    return value;
  }

 private:
  static constexpr std::uint64_t part_bytes = 4096;
  const ReadPart& read_;
  std::string part_;
  std::uint64_t first_ = 0;
};

bool is_depth_of(std::uint32_t colour_type, std::uint32_t depth) {
  switch (colour_type) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

ImageSize size_of_png(Window& file) {
  constexpr std::uint64_t kind = 12, width = 16, height = 20, depth = 24, colour = 25, compression = 26, filter = 27,
                          interlace = 28, sum = 29;
  constexpr std::uint32_t ihdr = 0x49484452;
  file.big_endian(sum, 4);  // all of it is there
  const std::string& begin = file.begin();
  const auto* const summed = reinterpret_cast<const Bytef*>(begin.data() + kind);
  if (file.big_endian(8, 4) != 13 || file.big_endian(kind, 4) != ihdr ||
      ::crc32(0, summed, static_cast<uInt>(sum - kind)) != file.big_endian(sum, 4))
    fail("has a damaged PNG header");
  if (!is_depth_of(file.big_endian(colour, 1), file.big_endian(depth, 1)) || file.big_endian(compression, 1) != 0 ||
      file.big_endian(filter, 1) != 0 || file.big_endian(interlace, 1) > 1)
    fail("is a PNG of a kind that there is not");
  return {file.big_endian(height, 4), file.big_endian(width, 4)};
}

bool is_frame(std::uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Baseline, extended and progressive, each with Huffman or arithmetic coding.
bool is_read_frame(std::uint32_t marker) {
  return marker <= 0xC2 || marker == 0xC9 || marker == 0xCA;
}

ImageSize size_of_frame(Window& file, std::uint64_t offset, std::uint32_t marker) {
  constexpr std::uint64_t precision = 2, height = 3, width = 5, components = 7;
  if (!is_read_frame(marker)) fail("is a lossless or hierarchical JPEG, which is not read");
  const std::uint32_t bits = file.big_endian(offset + precision, 1);
  if (bits != 8) fail("is a JPEG of " + std::to_string(bits) + " bits for each colour, and 8 are read");
  const std::uint32_t colours = file.big_endian(offset + components, 1);
  if (colours != 1 && colours != 3 && colours != 4)
    fail("is a JPEG of " + std::to_string(colours) + " colours, and 1, 3 or 4 are read");
  return {file.big_endian(offset + height, 2), file.big_endian(offset + width, 2)};
}

ImageSize size_of_jpeg(Window& file) {
  constexpr std::uint32_t end_of_image = 0xD9, scan = 0xDA, temporary = 0x01, first_restart = 0xD0, last_begin = 0xD8;
  for (std::uint64_t offset = 2; offset < longest_jpeg_header;) {
    if (file.big_endian(offset, 1) != 0xFF) fail("has a damaged JPEG header");
    const std::uint32_t marker = file.big_endian(++offset, 1);
    if (marker == 0xFF) continue;  // filling
    ++offset;
    if (marker == temporary || (marker >= first_restart && marker <= last_begin)) continue;
    if (marker == end_of_image || marker == scan || marker == 0) break;
    const std::uint32_t bytes = file.big_endian(offset, 2);
    if (is_frame(marker)) return size_of_frame(file, offset, marker);
    if (bytes < 2) break;
    offset += bytes;
  }
  fail("has a JPEG header without a size");
}

}  // namespace

bool is_png(const std::string& begin) {
  return begin.starts_with(png_magic);
}

ImageSize parse_image_size(const ReadPart& read) {
  Window file(read);
  if (file.begin().empty()) fail("is empty");
  const bool png = is_png(file.begin());
  if (!png && !file.begin().starts_with(jpeg_magic)) fail("is neither a PNG nor a JPEG image");
  const ImageSize size = png ? size_of_png(file) : size_of_jpeg(file);
  if (size.height == 0 || size.width == 0) fail("has a header that says no size");
  if (size.height > longest_image_side || size.width > longest_image_side ||
      std::uint64_t{1} * size.height * size.width > most_image_pixels)
    fail("has " + std::to_string(size.width) + " x " + std::to_string(size.height) +
         " pixels, and at most 134217728, and 65500 a side, are read");
  return size;
}

}  // namespace weft
