// Which job of a queue a rank is given when it asks for one.
//
// Asked by weft-feeder for the ranks of its node, and by the model of a cluster in virtual time. Pure. A rank takes the
// most demanding job that goes on it: long slices go to long bubbles and large jobs to ranks with memory, for other
// ranks cannot have them. With a policy other than throughput its order comes first (runner/policy/jobs.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "runner/policy/bubble_lengths.h"
#include "runner/policy/jobs.h"

namespace weft {

struct RankOffer {
  std::uint64_t memory = 0;  // bytes that the job may have
  BubbleLengths bubbles{};   // so far
};

// A job that waits, as it is known.
struct WaitingJob {
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  JobTerms terms{};            // the deadline as what is left until it, from now
  std::uint64_t memory = 0;    // that it wants; 0: whatever the rank has
  std::uint64_t lacked = 0;  // it did not fit in so many bytes, when it was given them
  Duration slice{};            // its longest; 0: not known
  double work_left = unknown;  // seconds of one rank
  double had = 0;              // likewise, so far
  std::uint32_t ranks = 0;     // that work on it now
};

// The share of a rank's idle time that has to be in bubbles which have room for a slice; fewer are not worth a change.
inline constexpr double least_room = 0.1;

bool goes_on(const WaitingJob& job, const RankOffer& rank);
// The number of one of these, in the order in which they were submitted. Nothing: none goes on this rank.
std::optional<std::size_t> placed(std::span<const WaitingJob> jobs, const RankOffer& rank, JobPolicy policy);

}  // namespace weft
