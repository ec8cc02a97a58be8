// The order in which the fill jobs of a device are asked for a slice, by the policy that the user chose.
//
// Used by the filler before each decision, on the dispatcher thread, and in virtual time. Pure, no allocation. A job
// whose slices are too long for what is left of a bubble is passed over, so the order is one of preference.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runner/policy/jobs.h"

namespace weft {

// How a job stands.
struct JobStanding {
  JobTerms terms{};
  bool ready = false;        // one of its slices may be launched
  Duration filled{};         // what its slices take on the idle GPU, of all so far
  Duration head_start{};     // of one that came later: as if it had had so much
  Duration unit{};           // length of a unit, or of one pass through it
  std::uint64_t done = 0;    // units
  std::uint64_t passes = 0;  // through those; 0: a unit has no passes
};

// Of a job that comes to these now: it is owed nothing for the time before.
Duration head_start_beside(std::span<const JobStanding> others, double weight);

class JobOrder {
 public:
  // The numbers of the jobs that are ready, the one to be asked first in front. Equal ones share by their weights.
  JobOrder(JobPolicy policy, std::span<const JobStanding> jobs);

  std::span<const std::uint8_t> numbers() const { return std::span(numbers_).first(count_); }

 private:
  std::array<std::uint8_t, most_jobs> numbers_{};
  std::size_t count_ = 0;
};

}  // namespace weft
