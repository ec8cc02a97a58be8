// See tensor.h.
#include "runner/feed/tensor.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

struct Type {
  std::uint32_t number;
  std::uint64_t bytes;
  std::string_view name;
};
constexpr std::array types{
    Type{WEFT_UINT8, 1, "uint8"},       Type{WEFT_INT8, 1, "int8"},       Type{WEFT_UINT16, 2, "uint16"},
    Type{WEFT_INT16, 2, "int16"},       Type{WEFT_UINT32, 4, "uint32"},   Type{WEFT_INT32, 4, "int32"},
    Type{WEFT_UINT64, 8, "uint64"},     Type{WEFT_INT64, 8, "int64"},     Type{WEFT_FLOAT16, 2, "float16"},
    Type{WEFT_BFLOAT16, 2, "bfloat16"}, Type{WEFT_FLOAT32, 4, "float32"}, Type{WEFT_FLOAT64, 8, "float64"},
};

const Type* find(std::uint32_t number) {
  const auto found = std::ranges::find(types, number, &Type::number);
  return found == types.end() ? nullptr : found;
}

}  // namespace

Tensor make_tensor(std::string_view name, std::uint32_t type, const std::uint64_t* shape, std::uint32_t dimensions) {
  Tensor tensor;
  std::memcpy(tensor.name.data(), name.data(), std::min(name.size(), tensor.name.size()));
  tensor.type = type;
  tensor.dimensions = dimensions;
  std::copy_n(shape, std::min<std::size_t>(dimensions, Tensor::most_dimensions), tensor.shape.begin());
  return tensor;
}

bool is_sound(const Tensor& tensor) {
  const Type* const type = find(tensor.type);
  const bool ends = std::ranges::find(tensor.name, '\0') != tensor.name.end();
  if (type == nullptr || !ends || tensor.name[0] == '\0' || tensor.dimensions > Tensor::most_dimensions) return false;
  if (tensor.variable > 1 || (tensor.variable == 1 && tensor.dimensions == 0)) return false;
  std::uint64_t bytes = type->bytes;
  for (std::uint32_t dimension = 0; dimension < tensor.dimensions; ++dimension) {
    const std::uint64_t size = tensor.shape[dimension];
    if (size == 0 || size > Tensor::most_bytes / bytes) return false;
    bytes *= size;
  }
  return true;
}

std::uint64_t bytes_of_element(std::uint32_t type) {
  const Type* const found = find(type);
  return found == nullptr ? 0 : found->bytes;
}

std::uint64_t bytes_of(const Tensor& tensor) {
  std::uint64_t bytes = bytes_of_element(tensor.type);
  for (std::uint32_t dimension = 0; dimension < tensor.dimensions; ++dimension) bytes *= tensor.shape[dimension];
  return bytes;
}

std::uint64_t bytes_of_item(const Tensor& tensor) {
  return tensor.dimensions == 0 ? bytes_of(tensor) : bytes_of(tensor) / tensor.shape[0];
}

bool have_one_shape(const Tensor& one, const Tensor& other) {
  return one.type == other.type && one.dimensions == other.dimensions &&
         std::equal(one.shape.begin(), one.shape.begin() + one.dimensions, other.shape.begin());
}

std::string_view name_of_type(std::uint32_t type) {
  const Type* const found = find(type);
  return found == nullptr ? "unknown" : found->name;
}

std::string described(const Tensor& tensor) {
  std::string text = std::string(name_of_type(tensor.type)) + " [";
  for (std::uint32_t dimension = 0; dimension < tensor.dimensions; ++dimension)
    text += (dimension == 0 ? (tensor.variable == 1 ? "up to " : "") : ", ") + std::to_string(tensor.shape[dimension]);
  return text + "]";
}

}  // namespace weft
