// See weights_file.h.
#include "feeder/files/weights_file.h"

#include <algorithm>
#include <cstring>

namespace weft {

WeightsFile::WeightsFile(const std::string& path, const StillReading& still_reading) {
  if (is_array_file(path)) {
    arrays_ = open_arrays(path);
    return;
  }
  if (!is_edge_list(path))
    throw FileError(path, "is no file of weights: .safetensors or .npy, or .edges, .tsv or .txt for a list of edges");
  edges_ = open_edge_list(path, still_reading);
  add("ids", WEFT_INT64, edges_->ids);
  add("offsets", WEFT_INT32, edges_->offsets);
  add("sources", WEFT_INT32, edges_->sources);
  add("degrees", WEFT_INT32, edges_->degrees);
  add("out_offsets", WEFT_INT32, edges_->out_offsets);
  add("out_targets", WEFT_INT32, edges_->out_targets);
  add("out_numbers", WEFT_INT32, edges_->out_numbers);
  if (!edges_->values.empty()) add("values", WEFT_FLOAT32, edges_->values);
}

template <class Number>
void WeightsFile::add(std::string_view name, std::uint32_t type, const std::vector<Number>& numbers) {
  const std::uint64_t count = numbers.size();
  parts_.push_back({make_tensor(name, type, &count, 1), reinterpret_cast<const std::byte*>(numbers.data())});
}

const WeightsFile::Part* WeightsFile::part(std::string_view name) const {
  const auto found = std::ranges::find_if(parts_, [&](const Part& part) { return part.tensor.text() == name; });
  return found == parts_.end() ? nullptr : &*found;
}

const Tensor* WeightsFile::find(std::string_view name) const {
  if (arrays_) {
    const StoredArray* const array = arrays_->find(name);
    return array == nullptr ? nullptr : &array->tensor;
  }
  const Part* const found = part(name);
  return found == nullptr ? nullptr : &found->tensor;
}

void WeightsFile::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  if (arrays_) return arrays_->file->read(arrays_->find(name)->offset + offset, to);
  std::memcpy(to.data(), part(name)->bytes + offset, to.size());
}

}  // namespace weft
