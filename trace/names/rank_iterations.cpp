// See rank_iterations.h.
#include "trace/names/rank_iterations.h"

#include <algorithm>

namespace weft::names {
namespace {

bool is_collective(Operation kind) {
  return !is_message(kind) && kind != Operation::put && kind != Operation::wait_signals;
}

// All that names come from.
std::string contents_of(const std::vector<IssuedGroup>& groups) {
  std::string contents;
  const auto add = [&](std::uint64_t value) { contents.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const IssuedGroup& group : groups) {
    add(group.communicator);
    add(group.operations.size());
    for (const OperationRecord& operation : group.operations) {
      add(static_cast<std::uint64_t>(operation.kind));
      add(static_cast<std::uint64_t>(operation.peer));
      if (is_collective(operation.kind)) add(operation.bytes);
    }
  }
  return contents;
}

}  // namespace

const CommunicatorRecord* RankIterations::communicator(CommunicatorId number) const {
  const auto found = communicators_.find(number);
  return found == communicators_.end() ? nullptr : &found->second;
}

void RankIterations::take(const Record& record) {
  if (record.kind == RecordKind::communicator)
    communicators_[record.communicator.communicator] = record.communicator;
  else if (record.kind == RecordKind::group)
    take(record.group);
  else if (record.kind == RecordKind::iteration)
    take(record.iteration);
}

void RankIterations::take(const GroupRecord& group) {
  ++groups_;
  if (group.iteration <= looked_at_) return;  // 0: it is of none
  Pending& pending = pending_[group.iteration];
  pending.is_whole = pending.is_whole && group.left_out == 0 && group.operations.size() > 0;
  if (pending.groups.size() == most_groups) pending.is_whole = false;
  if (!pending.is_whole) return pending.groups.clear();
  pending.groups.push_back({group.id, group.communicator, {group.operations.begin(), group.operations.end()}});
  if (pending_.size() > most_pending) look_at_first();
}

void RankIterations::take(const Iteration& iteration) {
  if (iteration.number <= looked_at_) return;
  pending_[iteration.number].expected = iteration.groups;
  while (!pending_.empty() && pending_.begin()->first + 2 <= iteration.number) look_at_first();
}

void RankIterations::look_at_first() {
  looked_at_ = pending_.begin()->first;
  look_at(looked_at_, pending_.begin()->second);
  pending_.erase(pending_.begin());
}

void RankIterations::finish() {
  for (auto& [number, pending] : pending_) look_at(number, pending);
  pending_.clear();
  looked_at_ = 0;
  ++count_;
}

void RankIterations::forget() {
  *this = RankIterations(watcher_);
}

void RankIterations::look_at(std::uint64_t number, Pending& pending) {
  if (!pending.expected || *pending.expected != pending.groups.size() || !pending.is_whole) {
    ++incomplete_;
    return;
  }
  std::ranges::sort(pending.groups, {}, &IssuedGroup::id);
  const std::optional<std::uint32_t> shape = shape_of(pending.groups, number);
  if (!shape) return;
  add_to_runs(number, *shape);
  for (std::uint32_t place = 0; watcher_ != nullptr && place < pending.groups.size(); ++place)
    watcher_->placed(number, pending.groups[place], {*shape, place});
}

// Nothing: there are too many.
std::optional<std::uint32_t> RankIterations::shape_of(const std::vector<IssuedGroup>& groups, std::uint64_t number) {
  const std::string contents = contents_of(groups);
  auto known = known_.find(contents);
  if (known == known_.end()) {
    if (shapes_.size() == most_shapes || kept_ + groups.size() > most_kept) {
      too_many_ = true;
      return std::nullopt;
    }
    known = known_.emplace(contents, static_cast<std::uint32_t>(shapes_.size())).first;
    shapes_.push_back({groups, 0, {count_, number}});
    kept_ += groups.size();
  }
  ++shapes_[known->second].iterations;
  return known->second;
}

void RankIterations::add_to_runs(std::uint64_t number, std::uint32_t shape) {
  if (!runs_.empty()) {
    ShapeRun& run = runs_.back();
    if (run.shape == shape && run.first.count == count_ && run.last + 1 == number) {
      run.last = number;
      return;
    }
  }
  if (runs_.size() < most_runs) runs_.push_back({{count_, number}, number, shape});
}

}  // namespace weft::names
