// See job_order.h.
#include "runner/policy/job_order.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

constexpr double without = std::numeric_limits<double>::infinity();  // behind all others

double had(const JobStanding& job) {
  return static_cast<double>((job.filled + job.head_start).count()) / job.terms.weight;
}

double work_left(const JobStanding& job) {
  if (job.terms.units == 0) return without;
  const std::uint64_t left = job.terms.units - std::min(job.done, job.terms.units);
  const double passes = job.passes == 0 ? 1 : static_cast<double>(job.passes) / static_cast<double>(job.done);
  return static_cast<double>(left) * passes * static_cast<double>(job.unit.count());
}

// Smaller is earlier.
double rank_of(JobPolicy policy, const JobStanding& job) {
  switch (policy) {
    case JobPolicy::priority:
      return -static_cast<double>(job.terms.priority);
    case JobPolicy::deadline:
      return job.terms.deadline > Duration{} ? static_cast<double>(job.terms.deadline.count()) : without;
    case JobPolicy::shortest:
      return work_left(job);
    case JobPolicy::throughput:
    case JobPolicy::fair:
      return 0;
  }
  return 0;
}

}  // namespace

Duration head_start_beside(std::span<const JobStanding> others, double weight) {
  double least = without;
  for (const JobStanding& other : others) least = std::min(least, had(other));
  return others.empty() ? Duration{} : Duration{static_cast<Duration::rep>(least * weight)};
}

JobOrder::JobOrder(JobPolicy policy, std::span<const JobStanding> jobs) {
  for (std::size_t number = 0; number < std::min(jobs.size(), most_jobs); ++number)
    if (jobs[number].ready) numbers_[count_++] = static_cast<std::uint8_t>(number);
  std::sort(numbers_.begin(), numbers_.begin() + count_, [&](std::uint8_t left, std::uint8_t right) {
    const double one = rank_of(policy, jobs[left]), other = rank_of(policy, jobs[right]);
    if (one != other) return one < other;
    const double one_had = had(jobs[left]), other_had = had(jobs[right]);
    return one_had != other_had ? one_had < other_had : left < right;
  });
}

}  // namespace weft
