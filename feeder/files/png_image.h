// PNG by libpng: an image from the bytes of a file, and the bytes of a file from an image.
//
// Called by the reader of folders and the writer of results, on any thread. Bytes are hostile: what is wrong with them
// is std::invalid_argument with libpng's own words, and std::bad_alloc where memory is missing. Between libpng's
// setjmp and longjmp no object with a destructor may live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "feeder/files/image_header.h"

namespace weft {

// Into RGB of 8 bits. Grey and palettes become RGB, of 16 bits the upper eight stay, transparency is dropped. Gamma and
// colour profiles change nothing. `size`: as parse_image_size() has found it.
void decode_png(std::span<const std::byte> file, ImageSize size, std::span<std::byte> to);

// Of RGB (three `channels`) or grey (one).
std::vector<std::byte> encode_png(ImageSize size, std::uint32_t channels, std::span<const std::byte> pixels);

}  // namespace weft
