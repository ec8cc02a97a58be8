// Adds up one rank's run; see the header.
#include "runner/policy/accounts.h"

#include <algorithm>

namespace weft {
namespace {
constexpr std::size_t most_lengths = 4096;
}

void Accounts::note(const Event& event) {
  if (event.kind == EventKind::group_issued && totals_.window_begin == TimePoint{}) {
    totals_.window_begin = event.time;
    totals_.window_end = event.time;
  }
  const bool over_at_once = event.kind == EventKind::group_issued && event.done_ticket == 0;
  if (event.kind == EventKind::group_done || over_at_once)
    totals_.window_end = std::max(totals_.window_end, event.time);
}

void Accounts::note(const Finding& finding) {
  if (finding.kind == FindingKind::bubble_closed) {
    ++totals_.bubbles;
    totals_.forecasts = totals_.forecasts || finding.bubble.forecast.has_value();
    totals_.idle += finding.bubble.closed - finding.bubble.opened;
    // A bubble that an abort ended is idle time of a group that never was done.
    totals_.window_end = std::max(totals_.window_end, finding.bubble.closed);
  } else if (finding.kind == FindingKind::iteration_ended) {
    ++totals_.iterations;
    const Duration length = finding.iteration.ended - finding.iteration.started;
    if (iteration_lengths_.size() < most_lengths)
      iteration_lengths_.push_back(length);
    else
      iteration_lengths_[next_length_] = length;
    next_length_ = (next_length_ + 1) % most_lengths;
  }
}

void Accounts::note(const SliceRecord& slice) {
  ++totals_.slices;
  totals_.filled += slice.alone;
  if (!slice.unit_done) return;
  ++totals_.fill_units;
  if (slice.correct == 0) ++totals_.fill_units_wrong;
}

void Accounts::filling_stopped(std::string_view reason) {
  if (totals_.filling_stopped) return;
  totals_.filling_stopped = true;
  reason.copy(totals_.reason, sizeof totals_.reason - 1);
}

TraceSummary Accounts::summary(std::uint64_t dropped_records) const {
  TraceSummary summary = totals_;
  summary.dropped_records = dropped_records;
  if (!iteration_lengths_.empty()) {
    std::vector<Duration> lengths = iteration_lengths_;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    summary.iteration_median = *middle;
  }
  return summary;
}

}  // namespace weft
