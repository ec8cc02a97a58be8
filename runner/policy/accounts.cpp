// Adds up one rank's run; see the header.
#include "runner/policy/accounts.h"

namespace weft {

void Accounts::note(const Event& event) {
  const bool first = event.kind == EventKind::group_issued && !totals_.has_window();
  const bool over_at_once = event.kind == EventKind::group_issued && event.done_ticket == 0;
  if (first || over_at_once || event.kind == EventKind::group_done) totals_.widen(event.time, event.time);
}

void Accounts::note(const Record& record) {
  totals_.add(record);
  if (record.kind == RecordKind::job && record.job.job < jobs_.size()) jobs_[record.job.job] = record.job;
  if (record.kind == RecordKind::bubble) bubble_lengths_.add(record.bubble.closed - record.bubble.opened);
  if (record.kind == RecordKind::iteration) iteration_lengths_.add(record.iteration.ended - record.iteration.started);
}

TraceSummary Accounts::summary(std::uint64_t dropped_records) const {
  TraceSummary summary = totals_.with_startup_and_causes();
  summary.dropped_records = dropped_records;
  summary.iteration_median = iteration_lengths_.median();
  summary.end_uncertainty = uncertainties_.median();
  return summary;
}

}  // namespace weft
