// An array of numbers with a name: an input or output of a fill job, for one record, or one of its parameters.
//
// Used on both sides of the channel to the feeder, and where a fill job declares its buffers. Plain values, pure. Texts
// have a fixed size because tensors travel through shared memory; nothing in one that was read from there is believed
// before is_sound().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/fill.h"

namespace weft {

struct Tensor {
  static constexpr std::size_t most_dimensions = WEFT_FILL_MOST_DIMENSIONS;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 46;  // far below what would overflow

  std::array<char, 128> name{};  // ends with a zero
  std::uint32_t type = 0;        // a weft_fill_type
  std::uint32_t dimensions = 0;
  std::array<std::uint64_t, most_dimensions> shape{};
  std::uint32_t variable = 0;  // 1: of the first dimension a record has any number up to that of the shape
  std::uint32_t reserved = 0;

  std::string_view text() const { return name.data(); }
};

// A name that is too long is cut off, and is then no name: see is_sound().
Tensor make_tensor(std::string_view name, std::uint32_t type, const std::uint64_t* shape, std::uint32_t dimensions);

// Known type, a name that ends, at most most_dimensions of at least 1 each, at most most_bytes; only what has a first
// dimension is variable.
bool is_sound(const Tensor& tensor);

// Of tensors that are sound.
std::uint64_t bytes_of_element(std::uint32_t type);  // 0: there is no such type
std::uint64_t bytes_of(const Tensor& tensor);
std::uint64_t bytes_of_item(const Tensor& tensor);            // one step of the first dimension; of none: all of it
bool have_one_shape(const Tensor& one, const Tensor& other);  // and one type

std::string_view name_of_type(std::uint32_t type);  // as in weft/fill.h, in small letters: "float32"
std::string described(const Tensor& tensor);        // "float32 [3, 224, 224]", "int32 [up to 512]"

}  // namespace weft
