// A file of records as the inputs of a fill job: .npy, .safetensors with a leading dimension, .jsonl of numbers, raw
// bytes, or a folder of images.
//
// Opened by the feeder for one fill job at a time; the job's inputs are checked one by one, then bound together. After
// that any thread reads. Throws FileError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feeder/files/open_file.h"
#include "runner/feed/tensor.h"

namespace weft {

class InputFile {
 public:
  virtual ~InputFile() = default;
  // One record of what goes by that name. Nothing: there is none, or the file does not say what it has.
  virtual std::optional<Tensor> describe(std::string_view name) const = 0;
  // Throws where it is not to be had as this.
  virtual void check(const Tensor& wanted) const = 0;
  // Once: all that is wanted, in the order in which read() numbers them. How many records there are then. `looks`: so
  // many of them are looked through, where a file may have some that are none.
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  virtual std::uint64_t bind(const std::vector<Tensor>& wanted, std::uint64_t looks) = 0;
  // All of the record's part is written, zeroes behind its end. The length: of the first dimension.
  virtual std::uint32_t read(std::size_t input, std::uint64_t record, std::span<std::byte> to) const = 0;
  // Of the files that the records are of, in order. None: they are parts of one file.
  virtual std::vector<std::string> names() const { return {}; }
  virtual std::uint64_t file_bytes(std::uint64_t) const { return 0; }  // of one of those
};

std::unique_ptr<InputFile> open_input(
    const std::string& path, const StillReading& still_reading = [] {});

}  // namespace weft
