// Files of arrays: .npy (one, without a name) and .safetensors (several, with names).
//
// parse_...() are pure: from the header's text and the size of the file to arrays that lie within the file. They are
// fed what users have, and hostile files: all that they throw is FileError. Formats: NumPy's "NPY format", versions 1
// to 3; the format of the safetensors library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "feeder/files/open_file.h"
#include "runner/feed/tensor.h"

namespace weft {

struct StoredArray {
  Tensor tensor;  // all of it, with the dimension of the records
  std::uint64_t offset = 0;
};

struct ArrayFile {
  std::unique_ptr<OpenFile> file;
  std::vector<StoredArray> arrays;
  bool has_names = false;  // else there is one, which goes by any name

  const StoredArray* find(std::string_view name) const;
};

bool is_array_file(std::string_view path);  // by its ending
ArrayFile open_arrays(const std::string& path);

// `begin`: what comes before the data, or more. Empty arrays and those of more than Tensor::most_dimensions dimensions
// are left out of .safetensors, which has others.
StoredArray parse_npy(const std::string& path, std::string_view begin, std::uint64_t file_bytes);
// `header`: the text behind the eight bytes of its size.
std::vector<StoredArray> parse_safetensors(const std::string& path, std::string_view header, std::uint64_t file_bytes);

// All that comes before the data of such a file; of .npy, for arrays whose dimensions are those of `array`.
std::string npy_begin(const Tensor& array);
// In the order of the arrays, one behind the other.
std::string safetensors_begin(const std::vector<Tensor>& arrays, std::vector<std::uint64_t>& offsets);

}  // namespace weft
