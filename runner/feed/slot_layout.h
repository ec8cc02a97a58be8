// Where the parts of one unit's records stand in a slot of the channel: the count, the numbers of the records, the
// inputs and outputs, and how long those are that are of variable length.
//
// Computed on both sides of the channel from what the fill job declared. Pure. All offsets are in bytes from the begin
// of the slot and multiples of 256, so copies are aligned.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/feed/tensor.h"

namespace weft {

struct SlotPart {
  std::uint64_t offset = 0;   // of the first record's
  std::uint64_t bytes = 0;    // of all records'
  std::uint64_t lengths = 0;  // offset of a std::uint32_t for each record; 0: it is not of variable length
};

struct SlotLayout {
  static constexpr std::uint64_t alignment = 256;
  static constexpr std::uint32_t most_records = 1U << 20;  // of a unit
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

  // `per_unit`: records of a unit, 1 to most_records. Tensors are sound.
  SlotLayout() = default;
  SlotLayout(std::uint32_t per_unit, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

  bool is_sound() const { return bytes <= most_bytes; }

  static constexpr std::uint64_t count = 0;            // offset of a std::uint32_t
  static constexpr std::uint64_t rejected = 4;         // likewise: the rank's, 1 if the results are not to be written
  static constexpr std::uint64_t numbers = alignment;  // offset of a std::uint64_t for each record
  std::vector<SlotPart> inputs, outputs;
  std::uint64_t bytes = 0;  // of the slot
};

}  // namespace weft
