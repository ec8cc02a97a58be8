// A fill job in virtual time: the kernels of its unit, the slices that they are cut into, and what its user wants.
//
// Made once, shared by the executors of all ranks. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/time.h"
#include "runner/policy/cuts.h"
#include "runner/policy/jobs.h"

namespace weft::model {

class Job {
 public:
  // `kernels`: lengths on the idle GPU, at least one. `slices`: see Cuts. `memory`: bytes that it needs to run. It is
  // there from `arrives` on, since the begin.
  Job(const std::vector<Duration>& kernels, const std::vector<Duration>& slices, const JobTerms& terms = {},
      std::uint64_t memory = 0, Duration arrives = {})
      : terms_(terms), memory_(memory), arrives_(arrives), cuts_(kernels, slices) {
    std::vector<Duration> ends{Duration{}};  // of the first n kernels together
    for (const Duration kernel : kernels) ends.push_back(ends.back() + kernel);
    for (const SliceRange& slice : cuts_.slices())
      alone_.push_back(ends[slice.first + slice.count] - ends[slice.first]);
  }

  const Cuts& cuts() const { return cuts_; }
  const std::vector<Duration>& alone() const { return alone_; }  // of each slice of the cuts
  const JobTerms& terms() const { return terms_; }
  std::uint64_t memory() const { return memory_; }
  TimePoint arrives() const { return TimePoint{arrives_}; }

 private:
  JobTerms terms_;
  std::uint64_t memory_;
  Duration arrives_;
  Cuts cuts_;
  std::vector<Duration> alone_;
};

}  // namespace weft::model
