// Totals of one rank for the summary: idle time, filled time, units, iterations, what was lost.
//
// Kept by the dispatcher thread, read by it or after it has ended. Pure: events, findings and slices in, numbers out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "detector/bubble.h"
#include "detector/event.h"
#include "trace/record.h"

namespace weft {

class Accounts {
 public:
  void note(const Event& event);
  void note(const Finding& finding);
  void note(const SliceRecord& slice);
  void note(Unfilled reason) { ++totals_.unfilled[static_cast<std::size_t>(reason)]; }
  void filling_stopped(std::string_view reason);  // the first reason stays

  const TraceSummary& totals() const { return totals_; }  // without the median
  TraceSummary summary(std::uint64_t dropped_records) const;

 private:
  TraceSummary totals_{};
  std::vector<Duration> iteration_lengths_;  // the latest `most_lengths` (accounts.cpp) of them, in a circle
  std::size_t next_length_ = 0;
};

}  // namespace weft
