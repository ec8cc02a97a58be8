// Event by event; see the header.
#include "runner/policy/group_records.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr Duration window = std::chrono::seconds(1);
constexpr std::uint32_t most_in_window = 256;  // records of one communicator
constexpr unsigned most_exponent = 16;

// Of any operation: the one that comes first on this rank need not come first on the other. Where none has a number the
// group's own decides, which says nothing on other ranks.
bool has_multiple(const GroupRecord& record, unsigned exponent) {
  const std::uint64_t mask = (std::uint64_t{1} << exponent) - 1;
  bool has_number = false;
  for (const OperationRecord& operation : record.operations) {
    if (operation.sequence == 0) continue;
    if ((operation.sequence & mask) == 0) return true;
    has_number = true;
  }
  return !has_number && (record.id & mask) == 0;
}

}  // namespace

void GroupRecords::observe(const Event& event, Duration within) {
  if (event.kind == EventKind::group_issued) return add(event);
  const auto group = pending_.find(event.group);
  if (event.group == 0 || group == pending_.end()) return;
  GroupRecord& record = group->second.record;
  if (event.kind == EventKind::operations_issued) {
    add_operations(group, event);
  } else if (event.kind == EventKind::group_started) {
    record.begun_known = true;
    record.begun = event.time;
    record.begun_within = within;
  } else if (event.kind == EventKind::group_done) {
    record.ended_known = true;
    record.ended = event.time;
    record.ended_within = within;
    finish(group, event.time);
  }
}

void GroupRecords::add(const Event& event) {
  if (event.summary.captured != Captured::none)
    return;  // a graph: its operations have no sequence, and other ranks none like it
  Pending& group = pending(event.group);
  group.has_end = event.done_ticket != 0;
  group.record = {};
  group.record.id = event.group;
  group.record.communicator = event.communicator;
  group.record.left_out = std::uint32_t{event.summary.sends} + event.summary.receives + event.summary.collectives;
  if (pending_.size() > most) finish(pending_.begin(), event.time);
}

// The memory of a group that is over is used again: nothing is allocated for each.
GroupRecords::Pending& GroupRecords::pending(GroupId id) {
  if (spare_.empty() || pending_.contains(id)) return pending_[id];
  spare_.back().key() = id;
  const auto place = pending_.insert(std::move(spare_.back())).position;
  spare_.pop_back();
  return place->second;
}

void GroupRecords::add_operations(Table::iterator group, const Event& event) {
  GroupRecord& record = group->second.record;
  for (const IssuedOperation& issued : event.operations) {
    if (issued.present && record.operations.add({issued.kind, issued.peer, issued.bytes, issued.sequence}))
      --record.left_out;
  }
  // A group without an end marker is over with its last operation, or with the last one that fits.
  if (!group->second.has_end && (record.left_out == 0 || record.operations.full())) finish(group, event.time);
}

void GroupRecords::finish(Table::iterator group, TimePoint time) {
  if (is_wanted(group->second.record, time))
    ready_.push_back(group->second.record);
  else
    ++thinned_out_;
  spare_.push_back(pending_.extract(group));
}

bool GroupRecords::is_wanted(const GroupRecord& record, TimePoint time) {
  Pace& pace = paces_[record.communicator];
  if (time - pace.since >= window) {
    if (pace.records < most_in_window / 4 && pace.exponent > 0) --pace.exponent;
    pace.records = 0;
    pace.since = time;
  }
  if (!has_multiple(record, pace.exponent)) return false;
  if (++pace.records <= most_in_window) return true;
  pace.exponent = std::min(pace.exponent + 1, most_exponent);
  pace.records = 0;
  pace.since = time;
  return true;
}

void GroupRecords::give_up(TimePoint now) {
  while (!pending_.empty()) finish(pending_.begin(), now);
}

const std::vector<GroupRecord>& GroupRecords::take_ready() {
  taken_.clear();
  taken_.swap(ready_);
  return taken_;
}

}  // namespace weft
