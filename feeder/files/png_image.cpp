// See png_image.h.
#include "feeder/files/png_image.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace weft {
namespace {

// The state of libpng's callbacks. Plain values: it is left by longjmp.
struct Work {
  std::jmp_buf left;
  std::array<char, 160> why;
  bool lacks_memory;
  const std::byte* from;  // what is still to be read
  std::size_t bytes;
  std::byte* to;  // RGB of all rows
  const std::byte* pixels;
  ImageSize size;
  std::uint32_t channels;
  std::byte* written;
  std::size_t written_bytes, room;
};

Work& work_of(void* context) {
  return *static_cast<Work*>(context);
}

[[noreturn]] void on_error(png_structp png, png_const_charp why) {
  Work& work = work_of(png_get_error_ptr(png));
  std::snprintf(work.why.data(), work.why.size(), "%s", why);
  std::longjmp(work.left, 1);
}

void on_warning(png_structp, png_const_charp) {}

png_voidp on_allocation(png_structp png, png_alloc_size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) work_of(png_get_mem_ptr(png)).lacks_memory = true;
  return memory;
}

void on_release(png_structp, png_voidp memory) {
  std::free(memory);
}

void on_read(png_structp png, png_bytep to, std::size_t bytes) {
  Work& work = work_of(png_get_io_ptr(png));
  if (bytes > work.bytes) png_error(png, "the file ends too early");
  std::memcpy(to, work.from, bytes);
  work.from += bytes;
  work.bytes -= bytes;
}

// Plain memory, which the caller of encode() gives back.
void on_write(png_structp png, png_bytep from, std::size_t bytes) {
  Work& work = work_of(png_get_io_ptr(png));
  if (work.written_bytes + bytes > work.room) {
    work.room = 2 * (work.written_bytes + bytes);
    void* const larger = std::realloc(work.written, work.room);
    if (larger == nullptr) {
      work.lacks_memory = true;
      png_error(png, "no memory");
    }
    work.written = static_cast<std::byte*>(larger);
  }
  std::memcpy(work.written + work.written_bytes, from, bytes);
  work.written_bytes += bytes;
}

void on_flush(png_structp) {}

bool decode(png_structp png, png_infop info, Work& work) noexcept {
  if (setjmp(work.left) != 0) return false;
  png_set_read_fn(png, &work, &on_read);
  png_set_user_limits(png, longest_image_side, longest_image_side);
  png_read_info(png, info);
  png_set_strip_16(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_palette_to_rgb(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const std::size_t row_bytes = std::size_t{3} * work.size.width;
  if (png_get_image_width(png, info) != work.size.width || png_get_image_height(png, info) != work.size.height ||
      png_get_rowbytes(png, info) != row_bytes)
    png_error(png, "its size is not that of its header");
  for (int pass = 0; pass < passes; ++pass)
    for (std::uint32_t row = 0; row < work.size.height; ++row)
      png_read_row(png, reinterpret_cast<png_bytep>(work.to + row * row_bytes), nullptr);
  return true;
}

bool encode(png_structp png, png_infop info, Work& work) noexcept {
  if (setjmp(work.left) != 0) return false;
  png_set_write_fn(png, &work, &on_write, &on_flush);
  png_set_IHDR(png, info, work.size.width, work.size.height, 8,
               work.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, 1);  // results wait for this
  png_write_info(png, info);
  const std::size_t row_bytes = std::size_t{work.channels} * work.size.width;
  for (std::uint32_t row = 0; row < work.size.height; ++row)
    png_write_row(png, reinterpret_cast<png_const_bytep>(work.pixels + row * row_bytes));
  png_write_end(png, info);
  return true;
}

void check(bool is_done, const Work& work) {
  if (work.lacks_memory) throw std::bad_alloc();
  if (!is_done) throw std::invalid_argument(work.why.data());
}

}  // namespace

void decode_png(std::span<const std::byte> file, ImageSize size, std::span<std::byte> to) {
  if (to.size() < size.bytes()) throw std::invalid_argument("there is no room for it");
  Work work{};
  work.from = file.data();
  work.bytes = file.size();
  work.to = to.data();
  work.size = size;
  png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &work, &on_error, &on_warning, &work,
                                             &on_allocation, &on_release);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool is_done = info != nullptr && decode(png, info, work);
  png_destroy_read_struct(&png, &info, nullptr);
  check(is_done, work);
}

std::vector<std::byte> encode_png(ImageSize size, std::uint32_t channels, std::span<const std::byte> pixels) {
  if (pixels.size() != std::uint64_t{channels} * size.height * size.width)
    throw std::invalid_argument("has not as many pixels as its size says");
  Work work{};
  work.pixels = pixels.data();
  work.size = size;
  work.channels = channels;
  png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &work, &on_error, &on_warning, &work,
                                              &on_allocation, &on_release);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  const bool is_done = info != nullptr && encode(png, info, work);
  png_destroy_write_struct(&png, &info);
  std::vector<std::byte> written(work.written, work.written + work.written_bytes);
  std::free(work.written);
  check(is_done, work);
  return written;
}

}  // namespace weft
