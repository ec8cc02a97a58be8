// See many_runs.h. Trimmed mean and winsorized variance: Tukey and McLaughlin (1963).
#include "runner/policy/many_runs.h"

#include <algorithm>
#include <cmath>

#include "detector/dcheck.h"

namespace weft {
namespace {

constexpr double trimmed = 0.25;  // of the weight, at either end

}  // namespace

void ManyRuns::add(double estimate, std::uint32_t control, std::uint32_t filled) {
  WEFT_DCHECK(control > 0 && filled > 0);
  runs_[seen_++ % most] = {estimate, control, filled};
}

std::optional<MeanOfRuns> ManyRuns::mean() const {
  const std::size_t count = std::min(seen_, most);
  if (count < fewest) return std::nullopt;
  std::array<Run, most> runs = runs_;
  const auto end = runs.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(runs.begin(), end, [](const Run& a, const Run& b) { return a.estimate < b.estimate; });
  MeanOfRuns result;
  double all = 0, squares = 0;
  for (auto run = runs.begin(); run != end; ++run) {
    all += run->weight();
    squares += run->weight() * run->weight();
    result.control += run->control;
    result.filled += run->filled;
  }
  result.runs = static_cast<std::uint32_t>(count);
  const double effective = all * all / squares;  // so many runs of one weight
  if (effective < fewest / 2.0) return std::nullopt;
  // The part of each run's weight that lies between the ends, and the estimates at them.
  double before = 0, sum = 0, least = runs.front().estimate, highest = (end - 1)->estimate;
  for (auto run = runs.begin(); run != end; ++run) {
    const double from = std::max(before, trimmed * all), to = std::min(before + run->weight(), (1 - trimmed) * all);
    if (before <= trimmed * all) least = run->estimate;
    if (before < (1 - trimmed) * all) highest = run->estimate;
    sum += run->estimate * std::max(0.0, to - from);
    before += run->weight();
  }
  result.estimate = sum / ((1 - 2 * trimmed) * all);
  double mean = 0, variance = 0;
  for (auto run = runs.begin(); run != end; ++run)
    mean += run->weight() / all * std::clamp(run->estimate, least, highest);
  for (auto run = runs.begin(); run != end; ++run) {
    const double off = std::clamp(run->estimate, least, highest) - mean;
    variance += run->weight() / all * off * off;
  }
  result.error = std::sqrt(variance / (effective - 1)) / (1 - 2 * trimmed);
  return result;
}

}  // namespace weft
