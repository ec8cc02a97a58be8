// The copies between the slots of a job's feed and the device, as nodes like those of the unit: those that come before
// it, and those behind it, for each slot.
//
// The first ones are of the slot that is for trial runs, the others of those that go round.
//
// Captured while the job is prepared, on a thread of Weft's or in the fill probe, with the context current. Throws
// SetUpError. A job that reads no records has one slot without copies.
#pragma once

#include <cuda.h>

#include <deque>
#include <vector>

#include "runner/core/driver.h"
#include "runner/fill/graph_nodes.h"
#include "runner/fill/job_feed.h"

namespace weft {

class SlotCopies {
 public:
  SlotCopies(const Driver& driver, const JobFeed& feed, CUstream stream);

  std::size_t slots() const { return in_.size(); }
  const std::vector<WorkNode>& in(std::size_t slot) const { return in_[slot]; }
  const std::vector<WorkNode>& out(std::size_t slot) const { return out_[slot]; }

 private:
  template <class Copy>
  std::vector<WorkNode> captured(const std::vector<SlotCopy>& copies, CUstream stream, Copy copy);

  const Driver& driver_;
  std::deque<Graph> graphs_;  // that the nodes are of
  std::vector<std::vector<WorkNode>> in_, out_;
};

}  // namespace weft
