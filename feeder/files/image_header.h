// The size of an image, from the begin of a PNG or JPEG file, without a library and without decoding anything.
//
// Called by the reader of folders for every image before work begins. Pure apart from `read`; fed hostile files: all
// that it throws is std::invalid_argument with the end of a sentence about the file, or what `read` throws.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft {

struct ImageSize {
  std::uint32_t height = 0, width = 0;
  std::uint64_t bytes() const { return std::uint64_t{3} * height * width; }  // as RGB
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Larger ones are refused: a file of a few bytes may claim any size. libjpeg takes no longer side.
constexpr std::uint32_t longest_image_side = 65500;
constexpr std::uint64_t most_image_pixels = std::uint64_t{1} << 27;

// So many bytes from an offset on, or fewer at the end of the file.
using ReadPart = std::function<std::string(std::uint64_t offset, std::uint64_t bytes)>;

ImageSize parse_image_size(const ReadPart& read);
bool is_png(const std::string& begin);  // else a JPEG, where parse_image_size() has found a size

}  // namespace weft
