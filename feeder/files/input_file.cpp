// Choosing the reader by the ending of the file, and the two simple ones; see input_file.h.
#include "feeder/files/input_file.h"

#include <algorithm>
#include <cstring>

#include "feeder/files/array_file.h"
#include "feeder/files/image_folder.h"
#include "feeder/files/json_lines.h"

namespace weft {
namespace {

// Of an array whose first dimension is that of the records. Where a job takes any length up to a bound, arrays of one
// length that is not larger will do.
class ArrayInput final : public InputFile {
 public:
  explicit ArrayInput(const std::string& path) : file_(open_arrays(path)) {}

  std::optional<Tensor> describe(std::string_view name) const override {
    const StoredArray* const array = file_.find(name);
    return array == nullptr || array->tensor.dimensions == 0 ? std::nullopt : std::optional(record_of(*array, name));
  }

  void check(const Tensor& wanted) const override {
    const std::optional<Tensor> there = describe(wanted.text());
    if (!there) fail("has no array '" + std::string(wanted.text()) + "' with a first dimension for the records");
    Tensor as_wanted = wanted;
    if (wanted.variable == 1 && there->dimensions > 0) as_wanted.shape[0] = std::min(wanted.shape[0], there->shape[0]);
    if (!have_one_shape(as_wanted, *there))
      fail("has records of " + described(*there) + " for '" + std::string(wanted.text()) + "', and the job takes " +
           described(wanted));
  }

  std::uint64_t bind(const std::vector<Tensor>& wanted, std::uint64_t) override {
    if (wanted.empty()) fail("is named as input, and the job takes none");
    for (const Tensor& tensor : wanted) {
      arrays_.push_back(file_.find(tensor.text()));
      if (arrays_.back()->tensor.shape[0] != arrays_.front()->tensor.shape[0])
        fail("has " + std::to_string(arrays_.front()->tensor.shape[0]) + " records of '" +
             std::string(wanted.front().text()) + "' and " + std::to_string(arrays_.back()->tensor.shape[0]) + " of '" +
             std::string(tensor.text()) + "'");
    }
    return arrays_.front()->tensor.shape[0];
  }

  std::uint32_t read(std::size_t input, std::uint64_t record, std::span<std::byte> to) const override {
    const StoredArray& array = *arrays_[input];
    const std::uint64_t bytes = bytes_of_item(array.tensor);
    file_.file->read(array.offset + record * bytes, to.first(bytes));
    std::memset(to.data() + bytes, 0, to.size() - bytes);
    return array.tensor.dimensions < 2 ? 1 : static_cast<std::uint32_t>(array.tensor.shape[1]);
  }

 private:
  static Tensor record_of(const StoredArray& array, std::string_view name) {
    return make_tensor(name, array.tensor.type, array.tensor.shape.data() + 1, array.tensor.dimensions - 1);
  }
  [[noreturn]] void fail(const std::string& what) const { throw FileError(file_.file->path(), what); }

  const ArrayFile file_;
  std::vector<const StoredArray*> arrays_;
};

// Records of the inputs' bytes, one behind the other.
class RawInput final : public InputFile {
 public:
  explicit RawInput(const std::string& path) : file_(path) {}

  std::optional<Tensor> describe(std::string_view) const override { return std::nullopt; }
  void check(const Tensor&) const override {}

  std::uint64_t bind(const std::vector<Tensor>& wanted, std::uint64_t) override {
    for (const Tensor& tensor : wanted) {
      offsets_.push_back(record_bytes_);
      record_bytes_ += bytes_of(tensor);
      lengths_.push_back(static_cast<std::uint32_t>(tensor.dimensions == 0 ? 1 : tensor.shape[0]));
    }
    if (record_bytes_ == 0) throw FileError(file_.path(), "is named as input, and the job takes none");
    if (file_.bytes() == 0 || file_.bytes() % record_bytes_ != 0)
      throw FileError(file_.path(), "has " + std::to_string(file_.bytes()) + " bytes, which are no records of " +
                                        std::to_string(record_bytes_) + " bytes (endings that Weft knows: .npy, " +
                                        ".safetensors, .jsonl)");
    return file_.bytes() / record_bytes_;
  }

  std::uint32_t read(std::size_t input, std::uint64_t record, std::span<std::byte> to) const override {
    file_.read(record * record_bytes_ + offsets_[input], to);
    return lengths_[input];
  }

 private:
  const OpenFile file_;
  std::uint64_t record_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> lengths_;
};

}  // namespace

std::unique_ptr<InputFile> open_input(const std::string& path, const StillReading& still_reading) {
  if (is_folder(path)) return open_image_folder(path, still_reading);
  if (is_array_file(path)) return std::make_unique<ArrayInput>(path);
  if (path.ends_with(".jsonl")) return open_json_lines(path);
  return std::make_unique<RawInput>(path);
}

}  // namespace weft
