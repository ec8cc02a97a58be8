// The median of all of Weft: in totals, timings of slices, summaries and reports. Pure; any thread.
//
// Of an even number of values it is the upper one of the two in the middle: always a value that was measured. Quantiles
// of forecasts (slots.h) have a rule of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

// Value{} when there are none.
template <class Value>
Value median(std::vector<Value> values) {
  if (values.empty()) return Value{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weft
