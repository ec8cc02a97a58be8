// See the header.
#include "trace/validate/intervals.h"

#include <algorithm>
#include <numeric>

namespace weft {

Spans united(AnySpans any) {
  std::ranges::sort(any, {}, &Span::begin);
  Spans result;
  for (const Span& span : any) {
    if (span.length() <= 0) continue;
    if (!result.empty() && span.begin <= result.back().end)
      result.back().end = std::max(result.back().end, span.end);
    else
      result.push_back(span);
  }
  return result;
}

Spans intersection(const Spans& left, const Spans& right) {
  Spans result;
  for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end();) {
    const Span both{std::max(l->begin, r->begin), std::min(l->end, r->end)};
    if (both.length() > 0) result.push_back(both);
    (l->end < r->end ? l : r)++;
  }
  return result;
}

Spans difference(const Spans& left, const Spans& right) {
  Spans result;
  auto r = right.begin();
  for (Span rest : left) {
    while (r != right.end() && r->end <= rest.begin) ++r;
    for (auto next = r; next != right.end() && next->begin < rest.end; ++next) {
      if (rest.begin < next->begin) result.push_back({rest.begin, next->begin});
      rest.begin = std::max(rest.begin, next->end);
    }
    if (rest.length() > 0) result.push_back(rest);
  }
  return result;
}

std::int64_t length(const Spans& spans) {
  return std::accumulate(spans.begin(), spans.end(), std::int64_t{0},
                         [](std::int64_t sum, const Span& span) { return sum + span.length(); });
}

}  // namespace weft
