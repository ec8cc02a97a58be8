// See slot_layout.h.
#include "runner/feed/slot_layout.h"

namespace weft {

SlotLayout::SlotLayout(std::uint32_t per_unit, const std::vector<Tensor>& its_inputs,
                       const std::vector<Tensor>& its_outputs) {
  bytes = numbers;
  const auto take = [&](std::uint64_t size) {
    const std::uint64_t offset = bytes;
    bytes += (size + alignment - 1) / alignment * alignment;
    return offset;
  };
  take(std::uint64_t{per_unit} * sizeof(std::uint64_t));
  const auto place = [&](const std::vector<Tensor>& tensors, std::vector<SlotPart>& parts) {
    for (const Tensor& tensor : tensors) {
      if (bytes > most_bytes || bytes_of(tensor) > most_bytes / per_unit) return void(bytes = most_bytes + 1);
      SlotPart& part = parts.emplace_back();
      part.bytes = per_unit * bytes_of(tensor);
      part.offset = take(part.bytes);
      if (tensor.variable == 1) part.lengths = take(std::uint64_t{per_unit} * sizeof(std::uint32_t));
    }
  };
  place(its_inputs, inputs);
  place(its_outputs, outputs);
}

}  // namespace weft
