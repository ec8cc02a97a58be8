// Sets of time as sorted lists of intervals, for holding a trace against the truth. Pure; used by the command and
// tests.
//
// Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

struct Span {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Span&, const Span&) = default;
};

// Whether a number from a file may be a time of CLOCK_MONOTONIC, or of CUPTI's clock, which may begin in 1970. Sums and
// differences of a few such fit into 64 bits.
inline bool is_time(std::int64_t number) {
  return number >= 0 && number < std::int64_t{1} << 60;
}
inline bool is_cupti_time(std::int64_t number) {
  return number >= 0 && number < std::int64_t{1} << 62;
}

using AnySpans = std::vector<Span>;  // in any order; they may overlap or be empty
using Spans = std::vector<Span>;     // sorted, disjoint, none empty, none that touch

Spans united(AnySpans any);
Spans intersection(const Spans& left, const Spans& right);
Spans difference(const Spans& left, const Spans& right);
std::int64_t length(const Spans& spans);

}  // namespace weft
