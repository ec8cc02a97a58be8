// Median and other quantiles of what a probe measured. Pure; called by probes on any thread.
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

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

}  // namespace probe
