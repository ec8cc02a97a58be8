// See slot_copies.h.
#include "runner/fill/slot_copies.h"

namespace weft {

template <class Copy>
std::vector<WorkNode> SlotCopies::captured(const std::vector<SlotCopy>& copies, CUstream stream, Copy copy) {
  Graph& graph = graphs_.emplace_back(driver_);
  check(driver_, driver_.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  CUresult result = CUDA_SUCCESS;
  for (const SlotCopy& one : copies)
    if (result == CUDA_SUCCESS) result = copy(one);
  const CUresult ended = driver_.cuStreamEndCapture(stream, graph.out());
  check(driver_, result, "copying records");
  check(driver_, ended, "capturing the copies of records");
  return work_nodes(driver_, graph.get());
}

SlotCopies::SlotCopies(const Driver& driver, const JobFeed& feed, CUstream stream) : driver_(driver) {
  if (!feed.has_records()) {
    in_.resize(1);
    out_.resize(1);
    return;
  }
  const std::size_t copied = feed.copies_in().size();
  std::vector<SlotCopy> before = feed.copies_in();
  before.insert(before.end(), feed.clears().begin(), feed.clears().end());
  for (std::uint32_t slot = 0; slot <= feed.slots(); ++slot) {
    std::byte* const host = slot == 0 ? feed.own_slot() : feed.slot(slot - 1);
    in_.push_back(captured(before, stream, [&, number = std::size_t{0}](const SlotCopy& copy) mutable {
      return number++ < copied ? driver.cuMemcpyHtoDAsync_v2(copy.device, host + copy.offset, copy.bytes, stream)
                               : driver.cuMemsetD8Async(copy.device, copy.value, copy.bytes, stream);
    }));
    out_.push_back(captured(feed.copies_out(), stream, [&](const SlotCopy& copy) {
      return driver.cuMemcpyDtoHAsync_v2(host + copy.offset, copy.device, copy.bytes, stream);
    }));
  }
}

}  // namespace weft
