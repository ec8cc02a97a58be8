// See placement.h.
#include "runner/policy/placement.h"

#include <algorithm>
#include <tuple>

namespace weft {
namespace {

// Smaller is earlier.
double rank_of(JobPolicy policy, const WaitingJob& job) {
  switch (policy) {
    case JobPolicy::priority:
      return -static_cast<double>(job.terms.priority);
    case JobPolicy::deadline:
      return job.terms.deadline != Duration{} ? static_cast<double>(job.terms.deadline.count()) : WaitingJob::unknown;
    case JobPolicy::shortest:
      return job.work_left;
    case JobPolicy::fair:
      return job.had / job.terms.weight;
    case JobPolicy::throughput:
      return 0;
  }
  return 0;
}

// A job that nobody works on comes before one that has ranks already.
auto key_of(JobPolicy policy, const WaitingJob& job) {
  const double crowd = static_cast<double>(job.ranks) / job.terms.weight;
  return std::tuple(rank_of(policy, job), crowd, -job.slice, -static_cast<double>(job.memory));
}

}  // namespace

bool goes_on(const WaitingJob& job, const RankOffer& rank) {
  const std::uint64_t given = job.memory != 0 ? job.memory : rank.memory;
  if (given == 0 || given > rank.memory || given <= job.lacked) return false;
  return job.slice == Duration{} || !rank.bubbles.is_known() || rank.bubbles.share_of_at_least(job.slice) >= least_room;
}

std::optional<std::size_t> placed(std::span<const WaitingJob> jobs, const RankOffer& rank, JobPolicy policy) {
  std::optional<std::size_t> best;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    if (!goes_on(jobs[number], rank)) continue;
    if (!best || key_of(policy, jobs[number]) < key_of(policy, jobs[*best])) best = number;
  }
  return best;
}

}  // namespace weft
