// Sets of time as sorted lists of intervals; see truth.h.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "truth/truth.h"

namespace simgpu {

Intervals united(Intervals any) {
  std::sort(any.begin(), any.end(),
            [](const Interval& left, const Interval& right) { return left.begin < right.begin; });
  Intervals result;
  for (const Interval& interval : any) {
    if (interval.begin >= interval.end) continue;
    if (result.empty() || result.back().end < interval.begin)
      result.push_back(interval);
    else
      result.back().end = std::max(result.back().end, interval.end);
  }
  return result;
}

Intervals intersection(const Intervals& left, const Intervals& right) {
  Intervals result;
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    const Interval common{std::max(left[i].begin, right[j].begin), std::min(left[i].end, right[j].end)};
    if (common.begin < common.end) result.push_back(common);
    if (left[i].end < right[j].end)
      ++i;
    else
      ++j;
  }
  return result;
}

Intervals difference(const Intervals& left, const Intervals& right) {
  Intervals result;
  std::size_t j = 0;
  for (Interval rest : left) {
    while (j < right.size() && right[j].end <= rest.begin) ++j;
    for (std::size_t k = j; k < right.size() && right[k].begin < rest.end; ++k) {
      if (rest.begin < right[k].begin) result.push_back({rest.begin, right[k].begin});
      rest.begin = std::max(rest.begin, right[k].end);
    }
    if (rest.begin < rest.end) result.push_back(rest);
  }
  return result;
}

std::int64_t length(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.end - interval.begin;
  return sum;
}

}  // namespace simgpu
