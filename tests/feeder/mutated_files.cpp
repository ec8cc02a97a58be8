// Hostile files: real ones with random changes, read by the readers of arrays, lines, edges and images. They take them
// or refuse them with FileError or std::invalid_argument; nothing else may happen. mutated_files HOW_MANY [SEED]
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "feeder/files/array_file.h"
#include "feeder/files/edge_list.h"
#include "feeder/files/image_header.h"
#include "feeder/files/jpeg_image.h"
#include "feeder/files/json_lines.h"
#include "feeder/files/open_file.h"
#include "feeder/files/png_image.h"
#include "tests/feeder/files.h"
#include "tests/feeder/images.h"

namespace {

using weft::testing::tensor;

std::string changed(std::string text, std::mt19937_64& dice) {
  const std::string letters = "0123456789[]{}(),:'\"<>-+.eEfnu \n\\";
  const std::size_t changes = 1 + dice() % 4;
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t place = dice() % text.size();
    switch (dice() % 6) {
      case 0:
        text[place] = static_cast<char>(dice());
        break;
      case 1:
        text[place] = letters[dice() % letters.size()];
        break;
      case 2:
        text.erase(place, 1 + dice() % 8);
        break;
      case 3:
        text.insert(place, text.substr(dice() % text.size(), dice() % 16));
        break;
      case 4:
        text.insert(place, std::to_string(dice() >> dice() % 64));
        break;
      default:
        text.resize(place);
    }
  }
  return text;
}

// Whether it was taken.
template <class Read>
bool is_taken(Read read) {
  try {
    read();
    return true;
  } catch (const weft::FileError&) {
    return false;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Whatever the text was: numbers that a job may use as places.
bool is_sound(const weft::EdgeList& list) {
  const std::size_t edges = list.sources.size(), vertices = list.ids.size();
  const auto are_below = [](const std::vector<std::int32_t>& numbers, std::size_t bound) {
    return std::ranges::all_of(numbers,
                               [bound](std::int32_t n) { return n >= 0 && static_cast<std::size_t>(n) < bound; });
  };
  const auto are_offsets = [&](const std::vector<std::int32_t>& offsets) {
    return offsets.size() == vertices + 1 && offsets[0] == 0 && std::ranges::is_sorted(offsets) &&
           static_cast<std::size_t>(offsets.back()) == edges;
  };
  return edges != 0 && are_below(list.sources, vertices) && are_below(list.out_targets, vertices) &&
         are_below(list.out_numbers, edges) && list.out_targets.size() == edges && list.out_numbers.size() == edges &&
         are_offsets(list.offsets) && are_offsets(list.out_offsets) && list.degrees.size() == vertices &&
         (list.values.empty() || list.values.size() == edges) && std::ranges::is_sorted(list.ids);
}

// As the reader of folders does it. Larger ones only take longer.
void read_image(const std::string& file) {
  const weft::ImageSize size = weft::parse_image_size([&](std::uint64_t offset, std::uint64_t bytes) {
    return offset < file.size() ? file.substr(offset, bytes) : std::string();
  });
  if (size.bytes() > 1 << 20) return;
  std::vector<std::byte> pixels(size.bytes());
  const auto bytes = std::as_bytes(std::span(file));
  weft::is_png(file) ? weft::decode_png(bytes, size, pixels) : weft::decode_jpeg(bytes, size, pixels);
}

// The sum of a PNG's header goes with it, else nothing behind it would be looked at.
std::string with_sum(std::string png) {
  if (png.size() < 33) return png;
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(png.data() + 12), 17);
  for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  return png;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const unsigned long long many = std::strtoull(arguments[1], nullptr, 10);
  std::mt19937_64 dice(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
  std::vector<std::uint64_t> offsets;
  const std::string npy = weft::npy_begin(tensor("a", WEFT_FLOAT32, {100, 3, 5}));
  const std::string safetensors =
      weft::safetensors_begin({tensor("a", WEFT_BFLOAT16, {4, 7}), tensor("b", WEFT_INT64, {9})}, offsets).substr(8);
  const std::string lines[] = {"[1, 2, -3, 4000000000]", R"({"x": [1.5, 2e3], "y": {"x": null}})"};
  const std::string edges[] = {"# from\tto\n3\t70\n70\t9000000000\r\n\n 3 9000000000\n", "1 2 0.5\n2 1 -3e-4\n1 2 7"};
  const weft::Tensor wanted[] = {tensor("x", WEFT_INT32, {8}, true), tensor("x", WEFT_FLOAT32, {2})};
  const std::string images[] = {
      weft::testing::png_file(5, 9),
      weft::testing::png_file(9, 9, {PNG_COLOR_TYPE_RGB, 8, true}, weft::testing::picture(9, 9)),
      weft::testing::png_file(4, 8, {PNG_COLOR_TYPE_PALETTE, 4}, std::vector<std::uint8_t>(16, 0x12),
                              {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}),
      weft::testing::png_file(4, 4, {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, std::vector<std::uint8_t>(64, 7)),
      weft::testing::jpeg_file(16, 24),
      weft::testing::jpeg_file(16, 24, 3, true),
      weft::testing::jpeg_file(9, 7, 1),
      weft::testing::jpeg_file(9, 7, 4)};
  std::vector<std::byte> room(64);
  unsigned long long taken = 0;
  for (unsigned long long i = 0; i < many; ++i) {
    const std::uint64_t file_bytes = dice() % 4 == 0 ? dice() : 8192;
    switch (dice() % 5) {
      case 0: {
        const std::string text = changed(npy, dice);
        taken += is_taken([&] {
          const weft::StoredArray array = weft::parse_npy("f", text, file_bytes);
          if (array.offset + weft::bytes_of(array.tensor) > file_bytes) std::abort();
        });
        break;
      }
      case 1: {
        const std::string text = changed(safetensors, dice);
        taken += is_taken([&] {
          for (const weft::StoredArray& array : weft::parse_safetensors("f", text, file_bytes))
            if (array.offset + weft::bytes_of(array.tensor) > file_bytes) std::abort();
        });
        break;
      }
      case 2: {
        const std::string text = changed(edges[dice() % 2], dice);
        taken += is_taken([&] {
          weft::EdgeReader reader("f", 100);
          const std::size_t cut = dice() % (text.size() + 1);
          reader.take(std::string_view(text).substr(0, cut));
          reader.take(std::string_view(text).substr(cut));
          const weft::EdgeList list = reader.finish([] {});
          if (!is_sound(list)) std::abort();
        });
        break;
      }
      case 3: {
        const std::string file = changed(images[dice() % std::size(images)], dice);
        taken += is_taken([&] { read_image(dice() % 2 == 0 ? with_sum(file) : file); });
        break;
      }
      default: {
        const weft::Tensor& tensor = wanted[i % 2];
        const std::string text = changed(lines[i % 2], dice);
        const std::span<std::byte> to = std::span(room).first(weft::bytes_of(tensor));
        taken += is_taken([&] { weft::parse_line(text, tensor, to); });
      }
    }
  }
  std::printf("%llu files, %llu of them taken\n", many, taken);
  return taken == 0 || taken == many ? 1 : 0;
}
