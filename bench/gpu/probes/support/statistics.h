// Median, other quantiles and robust means of what a probe measured. Pure; called by probes on any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace probe {

// Of the sorted values the one below or at which this share of them lies; NaN (null in JSON) of none.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

// Of the middle half: as robust as the median, and finer where a clock has coarse steps.
inline double middle_mean(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 4;
  double sum = 0;
  for (std::size_t index = cut; index + cut < values.size(); ++index) sum += values[index];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace probe
