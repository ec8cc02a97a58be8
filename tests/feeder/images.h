// Images for the tests of the feeder: written by libpng and libjpeg, in every kind that is read.
#pragma once

#include <png.h>

#include <cstdio>
// Needs FILE.
#include <jpeglib.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace weft::testing {

// Of a picture that differs from pixel to pixel and from colour to colour.
inline std::uint8_t sample(std::uint32_t row, std::uint32_t column, std::uint32_t colour) {
  return static_cast<std::uint8_t>(row * 7 + column * 13 + colour * 61);
}

inline std::vector<std::uint8_t> picture(std::uint32_t height, std::uint32_t width, std::uint32_t colours = 3) {
  std::vector<std::uint8_t> pixels;
  for (std::uint32_t row = 0; row < height; ++row)
    for (std::uint32_t column = 0; column < width; ++column)
      for (std::uint32_t colour = 0; colour < colours; ++colour) pixels.push_back(sample(row, column, colour));
  return pixels;
}

// Rows of `row_bytes` as the colour type and depth of PNG have them.
struct PngKind {
  int colour_type = PNG_COLOR_TYPE_RGB, depth = 8;
  bool interlaced = false;
};

inline std::string png_file(std::uint32_t height, std::uint32_t width, const PngKind& kind,
                            std::vector<std::uint8_t> rows, std::vector<png_color> palette = {}) {
  std::string written;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &written,
      [](png_structp from, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(from))->append(reinterpret_cast<const char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, kind.depth, kind.colour_type,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  png_write_info(png, info);
  const std::size_t row_bytes = rows.size() / height;
  std::vector<png_bytep> begins;
  for (std::uint32_t row = 0; row < height; ++row) begins.push_back(rows.data() + row * row_bytes);
  png_write_image(png, begins.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return written;
}

inline std::string png_file(std::uint32_t height, std::uint32_t width) {
  return png_file(height, width, {}, picture(height, width));
}

inline std::string jpeg_file(std::uint32_t height, std::uint32_t width, int colours = 3, bool progressive = false,
                             int quality = 90) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_height = height;
  jpeg.image_width = width;
  jpeg.input_components = colours;
  jpeg.in_color_space = colours == 1 ? JCS_GRAYSCALE : colours == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> pixels = picture(height, width, static_cast<std::uint32_t>(colours));
  while (jpeg.next_scanline < height) {
    JSAMPROW row = pixels.data() + std::size_t{jpeg.next_scanline} * width * static_cast<std::uint32_t>(colours);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string written(reinterpret_cast<const char*>(memory), bytes);
  std::free(memory);
  return written;
}

}  // namespace weft::testing
