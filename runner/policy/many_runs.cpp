// See many_runs.h. Trimmed mean and winsorized variance: Tukey and McLaughlin (1963).
#include "runner/policy/many_runs.h"

#include <algorithm>
#include <cmath>

#include "detector/dcheck.h"

namespace weft {
namespace {

constexpr double trimmed = 0.25;  // of the weight, at either end
constexpr double least_effective = 6;

struct Weighted {
  double estimate = 0, weight = 0;
};

// The estimate of the run that has the weight behind so much, of several in order, which have more.
double at_weight(const Weighted* run, double weight) {
  double until = run->weight;
  while (until <= weight) until += (++run)->weight;
  return run->estimate;
}

}  // namespace

void ManyRuns::add(double estimate, std::uint32_t control, std::uint32_t filled) {
  WEFT_DCHECK(control > 0 && filled > 0);
  runs_[seen_++ % most] = {static_cast<float>(estimate), static_cast<std::uint16_t>(control),
                           static_cast<std::uint16_t>(filled)};
}

std::optional<MeanOfRuns> ManyRuns::mean(double error) const {
  const std::size_t all = std::min(seen_, most);
  for (std::size_t count = fewest; count < all; count *= 2)
    if (const std::optional<MeanOfRuns> of_latest = mean_of_latest(count); of_latest && of_latest->error < error)
      return of_latest;
  return all < fewest ? std::nullopt : mean_of_latest(all);
}

std::optional<MeanOfRuns> ManyRuns::mean_of_latest(std::size_t count) const {
  std::array<Weighted, most> runs;
  MeanOfRuns result;
  double all = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Run& run = runs_[(seen_ - 1 - i) % most];
    runs[i] = {run.estimate, run.weight()};
    all += runs[i].weight;
    squares += runs[i].weight * runs[i].weight;
    result.control += run.control;
    result.filled += run.filled;
  }
  result.runs = static_cast<std::uint32_t>(count);
  const double effective = all * all / squares;  // so many runs of one weight
  if (effective < least_effective) return std::nullopt;
  result.freedom = (1 - 2 * trimmed) * effective - 1;
  const auto end = runs.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(runs.begin(), end, [](const Weighted& a, const Weighted& b) { return a.estimate < b.estimate; });
  // Those beyond are moved to the ends, so the ends are in the mean with the weight that is trimmed.
  const double least = at_weight(runs.data(), trimmed * all);
  std::reverse(runs.begin(), end);
  const double highest = at_weight(runs.data(), trimmed * all);
  double mean = 0, variance = 0;
  for (auto run = runs.begin(); run != end; ++run)
    mean += run->weight / all * std::clamp(run->estimate, least, highest);
  for (auto run = runs.begin(); run != end; ++run) {
    const double off = std::clamp(run->estimate, least, highest) - mean;
    variance += run->weight / all * off * off;
  }
  result.estimate = (mean - trimmed * (least + highest)) / (1 - 2 * trimmed);
  result.error = std::sqrt(variance / (effective - 1)) / (1 - 2 * trimmed);
  return result;
}

}  // namespace weft
