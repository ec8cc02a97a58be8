// See array_file.h.
#include "feeder/files/array_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::uint64_t most_npy_header = 1 << 20, most_safetensors_header = 16 << 20;
constexpr int deepest = 4;  // a header has no more

struct TypeName {
  std::uint32_t type;
  std::string_view npy, safetensors;
};
// The first of a type is the one that is written.
constexpr std::array type_names{
    TypeName{WEFT_UINT8, "|u1", "U8"},   TypeName{WEFT_INT8, "|i1", "I8"},     TypeName{WEFT_UINT16, "<u2", "U16"},
    TypeName{WEFT_INT16, "<i2", "I16"},  TypeName{WEFT_UINT32, "<u4", "U32"},  TypeName{WEFT_INT32, "<i4", "I32"},
    TypeName{WEFT_UINT64, "<u8", "U64"}, TypeName{WEFT_INT64, "<i8", "I64"},   TypeName{WEFT_FLOAT16, "<f2", "F16"},
    TypeName{WEFT_BFLOAT16, "", "BF16"}, TypeName{WEFT_FLOAT32, "<f4", "F32"}, TypeName{WEFT_FLOAT64, "<f8", "F64"},
    TypeName{WEFT_UINT8, "|b1", "BOOL"},
};

// The header of .npy is a literal of Python, which NumPy writes in one way; other spaces are allowed for.
class Literal {
 public:
  Literal(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  // Behind `key`, which stands there once.
  void go_to(std::string_view key) {
    const std::string quoted = "'" + std::string(key) + "'";
    const std::size_t found = text_.find(quoted);
    if (found == std::string_view::npos) fail("its header has no " + quoted);
    rest_ = text_.substr(found + quoted.size());
    take(':');
  }
  void take(char wanted) {
    if (!is_next(wanted)) fail("its header cannot be read");
    rest_.remove_prefix(1);
  }
  bool is_next(char wanted) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
    return !rest_.empty() && rest_.front() == wanted;
  }
  std::string_view quoted() {
    take('\'');
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) fail("its header cannot be read");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  bool starts_with(std::string_view word) {
    is_next(' ');
    return rest_.starts_with(word);
  }
  std::uint64_t number() {
    is_next(' ');
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) fail("its header cannot be read");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  [[noreturn]] void fail(const std::string& what) const { throw FileError(path_, what); }

 private:
  const std::string& path_;
  std::string_view text_, rest_;
};

std::vector<std::uint64_t> shape_in(Literal& literal) {
  std::vector<std::uint64_t> shape;
  literal.go_to("shape");
  literal.take('(');
  while (!literal.is_next(')')) {
    shape.push_back(literal.number());
    if (shape.size() > Tensor::most_dimensions) literal.fail("it has more than 8 dimensions");
    if (!literal.is_next(')')) literal.take(',');
  }
  return shape;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string text_of(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) {
    byte = static_cast<char>(value & 0xFF);
    value >>= 8;
  }
  return text;
}

const TypeName& name_of(std::uint32_t type) {
  return *std::ranges::find(type_names, type, &TypeName::type);
}

}  // namespace

const StoredArray* ArrayFile::find(std::string_view name) const {
  if (!has_names) return &arrays.front();
  const auto found = std::ranges::find_if(arrays, [&](const StoredArray& a) { return a.tensor.text() == name; });
  return found == arrays.end() ? nullptr : &*found;
}

StoredArray parse_npy(const std::string& path, std::string_view begin, std::uint64_t file_bytes) {
  if (!begin.starts_with(npy_magic) || begin.size() < 10) throw FileError(path, "is no .npy file");
  const int version = static_cast<unsigned char>(begin[6]);
  if (version < 1 || version > 3) throw FileError(path, "is a .npy file of version " + std::to_string(version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (begin.size() < 8 + width) throw FileError(path, "is cut off in its header");
  const std::uint64_t length = little_endian(begin.substr(8, width));
  if (length > most_npy_header) throw FileError(path, "has a header of " + std::to_string(length) + " bytes");
  if (begin.size() < 8 + width + length) throw FileError(path, "is cut off in its header");
  Literal literal(path, begin.substr(8 + width, length));
  literal.go_to("descr");
  if (literal.is_next('[')) literal.fail("has records of several fields; save each field as an array of its own");
  const std::string_view written = literal.quoted();
  const auto type = std::ranges::find(type_names, written, &TypeName::npy);
  if (type == type_names.end() || written.empty())
    literal.fail("has numbers of type '" + shown(written) + "', which Weft does not read");
  const std::vector<std::uint64_t> shape = shape_in(literal);
  literal.go_to("fortran_order");
  if (!literal.starts_with("False") && shape.size() > 1)
    literal.fail("is in Fortran's order; save it with numpy.ascontiguousarray()");
  StoredArray array{make_tensor("array", type->type, shape.data(), static_cast<std::uint32_t>(shape.size())),
                    8 + width + length};
  if (!is_sound(array.tensor)) literal.fail("has no numbers, or a shape that cannot be");
  if (file_bytes < array.offset || bytes_of(array.tensor) > file_bytes - array.offset)
    literal.fail("is cut off: its " + described(array.tensor) + " needs " + std::to_string(bytes_of(array.tensor)) +
                 " bytes, and " + std::to_string(file_bytes - std::min(file_bytes, array.offset)) + " are there");
  return array;
}

namespace {

// Nothing: it is left out.
std::optional<StoredArray> array_of(const std::string& path, const std::string& name, const nlohmann::json& entry,
                                    std::uint64_t data, std::uint64_t file_bytes) {
  const auto fail = [&](const std::string& what) { throw FileError(path, "tensor '" + shown(name) + "' " + what); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
    fail("is not described as tensors are");
  const nlohmann::json &type = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  const auto is_size = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
  if (!type.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2 ||
      !std::ranges::all_of(shape, is_size) || !std::ranges::all_of(offsets, is_size))
    fail("is not described as tensors are");
  const auto known = std::ranges::find(type_names, type.get<std::string>(), &TypeName::safetensors);
  if (known == type_names.end() || shape.size() > Tensor::most_dimensions) return std::nullopt;
  const auto sizes = shape.get<std::vector<std::uint64_t>>();
  if (std::ranges::find(sizes, 0U) != sizes.end()) return std::nullopt;
  StoredArray array{make_tensor(name, known->type, sizes.data(), static_cast<std::uint32_t>(sizes.size()))};
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (!is_sound(array.tensor)) fail("has a name or a shape that cannot be");
  if (begin > end || end > file_bytes - data) fail("is cut off: it ends behind the end of the file");
  if (end - begin != bytes_of(array.tensor)) fail("has another size than its shape says");
  array.offset = data + begin;
  return array;
}

}  // namespace

std::vector<StoredArray> parse_safetensors(const std::string& path, std::string_view header, std::uint64_t file_bytes) {
  bool is_deep = false;
  const auto look = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    is_deep = is_deep || depth > deepest;
    return !is_deep;
  };
  const nlohmann::json described = nlohmann::json::parse(header, look, false);
  if (is_deep) throw FileError(path, "is no .safetensors file: its header nests deeply");
  if (!described.is_object()) throw FileError(path, "is no .safetensors file: its header is no JSON object");
  if (file_bytes < 8 + header.size()) throw FileError(path, "is cut off in its header");
  std::vector<StoredArray> arrays;
  for (const auto& [name, entry] : described.items()) {
    if (name == "__metadata__") continue;
    if (const auto array = array_of(path, name, entry, 8 + header.size(), file_bytes)) arrays.push_back(*array);
  }
  return arrays;
}

bool is_array_file(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".safetensors");
}

ArrayFile open_arrays(const std::string& path) {
  ArrayFile made;
  made.file = std::make_unique<OpenFile>(path);
  const OpenFile& file = *made.file;
  made.has_names = path.ends_with(".safetensors");
  if (!made.has_names) {
    made.arrays.push_back(parse_npy(path, file.text(0, std::min(file.bytes(), most_npy_header + 12)), file.bytes()));
    return made;
  }
  if (file.bytes() < 8) throw FileError(path, "is no .safetensors file: it is too short");
  const std::uint64_t header = little_endian(file.text(0, 8));
  if (header > most_safetensors_header || header > file.bytes() - 8)
    throw FileError(path, "is no .safetensors file, or cut off in its header");
  made.arrays = parse_safetensors(path, file.text(8, header), file.bytes());
  if (made.arrays.empty()) throw FileError(path, "has no tensor that Weft reads");
  return made;
}

std::string npy_begin(const Tensor& array) {
  std::string shape;
  for (std::uint32_t dimension = 0; dimension < array.dimensions; ++dimension)
    shape += std::to_string(array.shape[dimension]) + (dimension + 1 < array.dimensions ? ", " : "");
  if (array.dimensions == 1) shape += ",";
  std::string header =
      "{'descr': '" + std::string(name_of(array.type).npy) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data begins at a multiple of 64, and the header ends with a line.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string(npy_magic) + std::string("\x01\x00", 2) + text_of(header.size(), 2) + header;
}

std::string safetensors_begin(const std::vector<Tensor>& arrays, std::vector<std::uint64_t>& offsets) {
  nlohmann::ordered_json header;
  std::uint64_t end = 0;
  for (const Tensor& array : arrays) {
    const std::uint64_t begin = end;
    end += bytes_of(array);
    header[std::string(array.text())] = {
        {"dtype", name_of(array.type).safetensors},
        {"shape", std::vector(array.shape.begin(), array.shape.begin() + array.dimensions)},
        {"data_offsets", {begin, end}}};
    offsets.push_back(begin);
  }
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';
  for (std::uint64_t& offset : offsets) offset += 8 + text.size();
  return text_of(text.size(), 8) + text;
}

}  // namespace weft
