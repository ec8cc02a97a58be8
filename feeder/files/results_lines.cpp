// See results_lines.h.
#include "feeder/files/results_lines.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "feeder/files/array_file.h"
#include "feeder/files/results_file.h"
#include "feeder/files/results_folder.h"

namespace weft {
namespace {

constexpr std::uint64_t bytes_at_once = 1 << 20;
constexpr std::string_view lengths_ending = ".lengths";

struct Output {
  Tensor tensor;  // of one record
  const StoredArray* values = nullptr;
  const StoredArray* lengths = nullptr;  // of one of variable length
};

Tensor of_one_record(const Tensor& all) {
  Tensor one = all;
  std::copy(all.shape.begin() + 1, all.shape.end(), one.shape.begin());
  one.shape.back() = 0;
  --one.dimensions;
  return one;
}

std::vector<Output> outputs_of(const ArrayFile& file, const std::string& path) {
  std::vector<Output> outputs;
  for (const StoredArray& array : file.arrays) {
    const std::string_view name = array.tensor.text();
    if (name.ends_with(lengths_ending) && file.find(name.substr(0, name.size() - lengths_ending.size())) != nullptr)
      continue;
    if (array.tensor.dimensions == 0) throw FileError(path, "has '" + std::string(name) + "' without records");
    Output output{of_one_record(array.tensor), &array, nullptr};
    const std::string lengths = std::string(name) + std::string(lengths_ending);
    output.lengths = file.has_names ? file.find(lengths) : nullptr;
    output.tensor.variable = output.lengths != nullptr ? 1 : 0;
    if (output.tensor.type == WEFT_FLOAT16 || output.tensor.type == WEFT_BFLOAT16)
      throw FileError(path, "has " + std::string(name_of_type(output.tensor.type)) + ", which no text has");
    outputs.push_back(output);
  }
  // As the job gave them: names have no order in the file.
  std::ranges::sort(outputs, {}, [](const Output& output) { return output.values->offset; });
  if (outputs.empty()) throw FileError(path, "has no results");
  for (const Output& output : outputs) {
    const bool fits = output.values->tensor.shape[0] == outputs.front().values->tensor.shape[0] &&
                      (output.lengths == nullptr ||
                       (output.lengths->tensor.type == WEFT_UINT32 && output.lengths->tensor.dimensions == 1 &&
                        output.lengths->tensor.shape[0] == output.values->tensor.shape[0]));
    if (!fits) throw FileError(path, "has results of different numbers of records");
  }
  return outputs;
}

ResultsPart part_of(const ArrayFile& file, const Output& output, std::uint64_t first, std::uint64_t count) {
  ResultsPart part;
  const std::uint64_t bytes = weft::bytes_of(output.tensor);
  part.values.resize(count * bytes);
  file.file->read(output.values->offset + first * bytes, part.values);
  if (output.lengths == nullptr) return part;
  part.lengths.resize(count);
  file.file->read(output.lengths->offset + first * sizeof(std::uint32_t),
                  std::as_writable_bytes(std::span(part.lengths)));
  for (const std::uint32_t length : part.lengths)
    if (length > output.tensor.shape[0]) throw FileError(file.file->path(), "has a length that cannot be");
  return part;
}

void copy_lines(const std::string& path, const std::function<void(std::string_view)>& take) {
  const OpenFile file(path);
  for (std::uint64_t at = 0; at < file.bytes(); at += bytes_at_once)
    take(file.text(at, std::min(bytes_at_once, file.bytes() - at)));
}

}  // namespace

void read_results_as_lines(const std::string& path, const std::function<void(std::string_view)>& take) {
  if (path.ends_with(".jsonl")) return copy_lines(path, take);
  if (is_results_folder(path)) throw FileError(path, "is a folder of pictures, of which no lines can be made");
  if (!is_array_file(path)) throw FileError(path, "has raw bytes, of which no lines can be made");
  const ArrayFile file = open_arrays(path);
  const std::vector<Output> outputs = outputs_of(file, path);
  std::vector<Tensor> tensors;
  std::uint64_t bytes = 0;
  for (const Output& output : outputs) {
    tensors.push_back(output.tensor);
    bytes += weft::bytes_of(output.tensor);
  }
  const std::uint64_t records = outputs.front().values->tensor.shape[0];
  const std::uint64_t at_once = std::max<std::uint64_t>(bytes_at_once / bytes, 1);
  for (std::uint64_t first = 0; first < records; first += at_once) {
    const std::uint64_t count = std::min(at_once, records - first);
    std::vector<ResultsPart> parts;
    for (const Output& output : outputs) parts.push_back(part_of(file, output, first, count));
    take(lines_of(tensors, parts, count));
  }
}

}  // namespace weft
