// A file of weights, as a fill job reads its parameters from it: arrays by name. Of an edge list they are those that
// EdgeList has.
//
// Opened by the feeder and in a fill job's trial, for one fill job at a time; then any thread reads. Throws FileError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feeder/files/array_file.h"
#include "feeder/files/edge_list.h"

namespace weft {

class WeightsFile {
 public:
  // An edge list is read whole, which takes as long as that takes.
  WeightsFile(const std::string& path, const StillReading& still_reading);

  // All of an array; nothing: there is none of that name.
  const Tensor* find(std::string_view name) const;
  // Of one that was found; within its bytes.
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const;

 private:
  struct Part {
    Tensor tensor;
    const std::byte* bytes;
  };
  template <class Number>
  void add(std::string_view name, std::uint32_t type, const std::vector<Number>& numbers);
  const Part* part(std::string_view name) const;

  std::optional<ArrayFile> arrays_;  // or
  std::shared_ptr<const EdgeList> edges_;
  std::vector<Part> parts_;
};

}  // namespace weft
