// A fill job in virtual time: the kernels of its unit, and the slices that they are cut into.
//
// Made once, shared by the executors of all ranks. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "detector/time.h"
#include "runner/policy/cuts.h"

namespace weft::model {

class Job {
 public:
  // `kernels`: lengths on the idle GPU, at least one. `slices`: see Cuts.
  Job(const std::vector<Duration>& kernels, const std::vector<Duration>& slices) : cuts_(kernels, slices) {
    for (const Duration kernel : kernels) ends_.push_back(ends_.back() + kernel);
  }

  const Cuts& cuts() const { return cuts_; }
  Duration alone(std::uint32_t slice) const {
    const SliceRange& range = cuts_.slices()[slice];
    return ends_[range.first + range.count] - ends_[range.first];
  }

 private:
  std::vector<Duration> ends_{Duration{}};  // of the first n kernels together
  Cuts cuts_;
};

}  // namespace weft::model
