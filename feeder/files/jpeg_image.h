// JPEG by libjpeg-turbo: an image from the bytes of a file.
//
// Called by the reader of folders, on any thread. Bytes are hostile: what is wrong with them is std::invalid_argument
// with the library's own words, and std::bad_alloc where memory is missing. The library's way to end a process is
// replaced; between setjmp and longjmp no object with a destructor may live.
#pragma once

#include <cstddef>
#include <span>

#include "feeder/files/image_header.h"

namespace weft {

// Into RGB of 8 bits, with the integer transform and smooth upsampling, the library's defaults and those of most
// programs. CMYK is taken as Adobe's programs write it, inverted, and becomes RGB without a profile. The orientation of
// Exif changes nothing. An image whose data ends early is broken, and so is one with codes that there are not.
void decode_jpeg(std::span<const std::byte> file, ImageSize size, std::span<std::byte> to);

}  // namespace weft
