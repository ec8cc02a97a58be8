// See the header.
#include "trace/report/timeline_window.h"

#include <algorithm>

#include "trace/export/messages.h"
#include "trace/names/slot_places.h"
#include "trace/report/reported_run.h"

namespace weft::report {

ExportedRank window_of(const ReportedRun& run, std::size_t trace, const KeptIteration& iteration) {
  const ReportedTrace& reported = run.traces[trace];
  ExportedRank rank;
  rank.path = reported.path;
  rank.process = reported.process;
  rank.header = reported.header;
  rank.communicators = run.named.places[trace]->iterations().communicators();
  rank.segments.resize(reported.segments);
  const std::size_t segment = std::min<std::size_t>(iteration.key.segment, reported.segments - 1);
  rank.segments[segment].window = {iteration.started, iteration.ended};
  return rank;
}

void WindowReader::take(const Record& record) {
  if (segment_ != key_.segment) return;
  if (record.kind == RecordKind::bubble) bubbles.push_back(record.bubble);
  if (record.kind == RecordKind::uncertain)
    add(static_cast<std::uint8_t>(TimelineKind::uncertain), record.uncertain.began, record.uncertain.ended);
  if (record.kind == RecordKind::dark)
    add(static_cast<std::uint8_t>(TimelineKind::dark), record.dark.began, record.dark.ended);
  if (record.kind == RecordKind::slice)
    add(static_cast<std::uint8_t>(TimelineKind::fill), record.slice.launched, record.slice.finished);
  if (record.kind == RecordKind::group) take(record.group);
}

void WindowReader::take(const GroupRecord& group) {
  GroupMessages messages = messages_of(rank_, group);
  const auto receives = static_cast<std::size_t>(std::ranges::count_if(
      group.operations, [](const OperationRecord& operation) { return operation.kind == Operation::receive; }));
  if (receives > 0 && arrivals.size() < most_) {
    const bool all_known = group.left_out == 0 && messages.received.size() == receives;
    arrivals[group.id] = {std::move(messages.received), all_known, group.ended_known, group.ended, group.ended_within};
  }
  if (group.begun_known)
    for (const std::uint64_t message : messages.sent)
      if (sent.size() < most_) sent.emplace_back(message, group.begun);
}

}  // namespace weft::report
