// A fill job in virtual time: the kernels of its unit, the slices that they are cut into, and what its user wants.
//
// Made once, shared by the executors of all ranks. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/policy/cuts.h"
#include "runner/policy/jobs.h"

namespace weft::model {

// A smaller variant of a job, as a user gives it.
struct VariantOptions {
  std::string name;
  std::vector<Duration> kernels;  // of a unit
  std::uint64_t memory = 0;       // bytes
};

class Job {
 public:
  // `kernels`: lengths on the idle GPU, at least one. `slices`: see Cuts. `memory`: bytes that it needs to run. It is
  // there from `arrives` on, since the begin.
  Job(const std::vector<Duration>& kernels, const std::vector<Duration>& slices, const JobTerms& terms = {},
      std::uint64_t memory = 0, Duration arrives = {}, const std::string& variant = "")
      : terms_(terms), arrives_(arrives) {
    add_variant(variant, kernels, slices, memory);
  }
  // A smaller one than those before. Before executors have the job.
  void add_variant(const std::string& name, const std::vector<Duration>& kernels, const std::vector<Duration>& slices,
                   std::uint64_t memory) {
    Variant& made = variants_.emplace_back(Variant{name, memory, Cuts(kernels, slices), {}});
    std::vector<Duration> ends{Duration{}};  // of the first n kernels together
    for (const Duration kernel : kernels) ends.push_back(ends.back() + kernel);
    for (const SliceRange& slice : made.cuts.slices())
      made.alone.push_back(ends[slice.first + slice.count] - ends[slice.first]);
  }

  // Of a variant; the first is the best.
  std::size_t variants() const { return variants_.size(); }
  const std::string& variant(std::size_t number) const { return variants_[number].name; }
  const Cuts& cuts(std::size_t variant = 0) const { return variants_[variant].cuts; }
  const std::vector<Duration>& alone(std::size_t variant = 0) const { return variants_[variant].alone; }  // each slice
  std::uint64_t memory(std::size_t variant = 0) const { return variants_[variant].memory; }
  // Of all variants, as a user would give it to the job.
  std::uint64_t most_memory() const {
    std::uint64_t most = 0;
    for (const Variant& variant : variants_) most = std::max(most, variant.memory);
    return most;
  }
  const JobTerms& terms() const { return terms_; }
  TimePoint arrives() const { return TimePoint{arrives_}; }

 private:
  struct Variant {
    std::string name;
    std::uint64_t memory = 0;
    Cuts cuts;
    std::vector<Duration> alone;
  };

  JobTerms terms_;
  Duration arrives_;
  std::vector<Variant> variants_;
};

}  // namespace weft::model
