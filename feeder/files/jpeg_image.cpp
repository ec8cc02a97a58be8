// See jpeg_image.h.
#include "feeder/files/jpeg_image.h"

#include <csetjmp>
#include <cstdint>
#include <cstdio>
// Needs FILE.
#include <jpeglib.h>
// Needs jpeglib.h.
#include <jerror.h>

#include <array>
#include <new>
#include <stdexcept>

namespace weft {
namespace {

constexpr int most_scans = 500;  // of a progressive image: a small file may have many, each of which takes long

// The library's structures first, whose addresses the callbacks get. Plain values: it is left by longjmp.
struct Work {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf left;
  std::array<char, JMSG_LENGTH_MAX> why;
  bool lacks_memory;
  ImageSize size;
  std::byte* to;
};

Work& work_of(j_common_ptr jpeg) {
  return *static_cast<Work*>(jpeg->client_data);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Work& work = work_of(jpeg);
  work.lacks_memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
  jpeg->err->format_message(jpeg, work.why.data());
  std::longjmp(work.left, 1);
}

// Of what the library goes on after, this has cost pixels.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      on_error(jpeg);
    default:
      return;
  }
}

void on_progress(j_common_ptr jpeg) {
  Work& work = work_of(jpeg);
  if (!jpeg->is_decompressor || work.jpeg.input_scan_number <= most_scans) return;
  std::snprintf(work.why.data(), work.why.size(), "it has more than %d scans", most_scans);
  std::longjmp(work.left, 1);
}

// `cmyk`: inverted.
void write_rgb(const JSAMPLE* cmyk, std::byte* to, std::uint32_t pixels) {
  for (std::uint32_t pixel = 0; pixel < pixels; ++pixel, cmyk += 4) {
    const std::uint32_t white = cmyk[3];
    for (int colour = 0; colour < 3; ++colour) {
      const std::uint32_t product = (255U - cmyk[colour]) * white + 128;
      *to++ = static_cast<std::byte>(white - (((product >> 8) + product) >> 8));
    }
  }
}

bool decode(Work& work, const unsigned char* from, unsigned long bytes) noexcept {
  if (setjmp(work.left) != 0) return false;
  jpeg_decompress_struct& jpeg = work.jpeg;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &work.progress;
  jpeg_mem_src(&jpeg, from, bytes);
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.image_width != work.size.width || jpeg.image_height != work.size.height) {
    std::snprintf(work.why.data(), work.why.size(), "its size is not that of its header");
    return false;
  }
  const bool is_cmyk = jpeg.num_components == 4;
  jpeg.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  jpeg.dct_method = JDCT_ISLOW;
  jpeg.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&jpeg);
  JSAMPARRAY inks = nullptr;
  if (is_cmyk)
    inks = jpeg.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE, 4 * work.size.width, 1);
  while (jpeg.output_scanline < work.size.height) {
    std::byte* const to = work.to + std::size_t{3} * work.size.width * jpeg.output_scanline;
    auto* row = reinterpret_cast<JSAMPROW>(to);
    jpeg_read_scanlines(&jpeg, is_cmyk ? inks : &row, 1);
    if (is_cmyk) write_rgb(inks[0], to, work.size.width);
  }
  return true;
}

}  // namespace

void decode_jpeg(std::span<const std::byte> file, ImageSize size, std::span<std::byte> to) {
  if (to.size() < size.bytes()) throw std::invalid_argument("there is no room for it");
  Work work{};
  work.size = size;
  work.to = to.data();
  work.jpeg.err = jpeg_std_error(&work.errors);
  work.jpeg.client_data = &work;
  work.errors.error_exit = &on_error;
  work.errors.emit_message = &on_message;
  work.progress.progress_monitor = &on_progress;
  const bool is_done = decode(work, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_destroy_decompress(&work.jpeg);
  if (work.lacks_memory) throw std::bad_alloc();
  if (!is_done) throw std::invalid_argument(work.why.data());
}

}  // namespace weft
