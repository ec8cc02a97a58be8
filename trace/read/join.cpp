// Sorted by what they have to agree about, sides of one operation stand next to each other; see the header.
#include "trace/read/join.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "trace/clocks/clock_bounds.h"
#include "trace/formatted.h"
#include "trace/read/progress.h"

namespace weft {
namespace {

// A group of which an operation was not kept. As long as none of the others is looked at nothing is known of it.
constexpr std::uint8_t thinned = 0xff;
constexpr unsigned most_exponent = 63;

bool is_message(Operation kind) {
  return kind == Operation::send || kind == Operation::receive;
}

bool is_one_sided(Operation kind) {
  return kind == Operation::put || kind == Operation::wait_signals;
}

// The lines of one device of a process. A file may begin with those of an earlier process, which do not count.
class FileAdder : public TraceSink {
 public:
  FileAdder(GroupJoiner& joiner, TraceSink* also) : joiner_(joiner), also_(also) {}

  bool wants(std::string_view line) const override { return is_own(line) || (also_ != nullptr && also_->wants(line)); }
  void unreadable(std::string_view line) override {
    if (is_own(line)) joiner_.add_unusable(1);
  }
  void header(const TraceHeader& header, const TraceLine& line) override {
    if (also_ != nullptr) also_->header(header, line);
    const std::pair process(header.process, header.start_id);
    if (process_ && *process_ != process) joiner_.forget_process();
    process_ = process;
  }
  void record(const Record& record, const TraceLine& line) override {
    if (also_ != nullptr) also_->record(record, line);
    if (record.kind != RecordKind::communicator && record.kind != RecordKind::group) return;
    if (!line.sound())
      joiner_.add_unusable(1);
    else if (record.kind == RecordKind::communicator)
      joiner_.add(record.communicator);
    else
      joiner_.add(record.group);
  }
  void summary(const TraceSummary& summary, const TraceLine& line) override {
    if (also_ != nullptr) also_->summary(summary, line);
  }

 private:
  static bool is_own(std::string_view line) {
    return is_line_of(line, "group") || is_line_of(line, "communicator") || is_line_of(line, "header");
  }

  GroupJoiner& joiner_;
  TraceSink* also_;
  std::optional<std::pair<std::int64_t, std::int64_t>> process_;
};

}  // namespace

void GroupJoiner::add_file(const std::string& path, TraceSink* also, TraceClock clock, ReadProgress* progress) {
  FileAdder adder(*this, also);
  begin_process(clock);
  try {
    read_trace(path, adder, progress);
  } catch (...) {
    forget_process();
    throw;
  }
  end_process();
}

void GroupJoiner::add(const GroupRecord& group) {
  if (recorded_++ == 0) clocks_.insert(clock_.clock);
  verdicts_.push_back(0);
  for (const OperationRecord& operation : group.operations) add(operation, group);
  Side whole;
  whole.group = static_cast<std::uint32_t>(verdicts_.size() - 1);
  if (group.left_out > 0) mark(whole, Unjoined::left_out);
}

void GroupJoiner::add(const OperationRecord& operation, const GroupRecord& group) {
  Side side;
  side.group = static_cast<std::uint32_t>(verdicts_.size() - 1);
  if (is_one_sided(operation.kind)) return mark(side, Unjoined::one_sided);
  if (operation.sequence == 0) return mark(side, Unjoined::no_sequence);
  side.id = group.communicator;
  side.to = operation.peer;
  side.kind = operation.kind;
  side.bytes = operation.bytes;
  side.sequence = operation.sequence;
  if (!is_kept(side)) return leave_out(side);
  if (bounds_ != nullptr) {
    TimedSide timed{.clock = clock_.clock};
    if (clock_.is_sure) timed = timed_side(group, clock_.clock, clock_.offset);
    side.clock = timed.clock;
    side.not_before = timed.not_before;
    side.not_after = timed.not_after;
  }
  sides_.push_back(side);
  while (sides_.size() > most_ && exponent_ < most_exponent) thin_out();
}

// Both keep what the same rule leaves, so what is kept in the end does not depend on who took what.
void GroupJoiner::add(const GroupJoiner& other) {
  while (exponent_ < other.exponent_) thin_out();
  const auto groups = static_cast<std::uint32_t>(verdicts_.size());
  verdicts_.insert(verdicts_.end(), other.verdicts_.begin(), other.verdicts_.end());
  for (Side side : other.sides_) {
    side.group += groups;
    if (is_kept(side))
      sides_.push_back(side);
    else
      leave_out(side);
  }
  first_side_ = sides_.size();
  first_group_ = verdicts_.size();
  while (sides_.size() > most_ && exponent_ < most_exponent) thin_out();
  for (const auto& [id, ranks] : other.sizes_) sizes_[id] = std::max(sizes_[id], ranks);
  for (const auto& member : other.seen_)
    if (seen_.insert(member).second) ++traced_[member.first];
  groupless_.insert(other.groupless_.begin(), other.groupless_.end());
  clocks_.insert(other.clocks_.begin(), other.clocks_.end());
  result_.recorded += other.result_.recorded;
  result_.unusable += other.result_.unusable;
}

// A stronger word about the group stays.
void GroupJoiner::leave_out(const Side& side) {
  if (verdicts_[side.group] == 0) verdicts_[side.group] = thinned;
}

// Half of them, also those of processes that were added before.
void GroupJoiner::thin_out() {
  ++exponent_;
  std::size_t kept = 0, kept_before = 0;
  for (std::size_t index = 0; index < sides_.size(); ++index) {
    if (index == first_side_) kept_before = kept;
    if (is_kept(sides_[index]))
      sides_[kept++] = sides_[index];
    else
      leave_out(sides_[index]);
  }
  first_side_ = first_side_ < sides_.size() ? kept_before : kept;
  sides_.resize(kept);
}

// False: nobody knows which communicator it is on the other ranks.
bool GroupJoiner::place(Side& side) const {
  const auto found = communicators_.find(static_cast<CommunicatorId>(side.id));
  if (found == communicators_.end() || found->second.id == 0) return false;
  const std::int32_t peer = side.to;
  side.id = found->second.id;
  side.rank = found->second.rank;
  side.is_root = !is_message(side.kind) && peer == side.rank;
  side.from = side.kind == Operation::send ? side.rank : side.kind == Operation::receive ? peer : -1;
  side.to = side.kind == Operation::send ? peer : side.kind == Operation::receive ? side.rank : -1;
  return true;
}

void GroupJoiner::end_process() {
  for (const auto& [number, communicator] : communicators_) {
    sizes_[communicator.id] = std::max(sizes_[communicator.id], communicator.ranks);
    if (seen_.emplace(communicator.id, communicator.rank).second) ++traced_[communicator.id];
    if (recorded_ == 0) groupless_.emplace(communicator.id, communicator.rank);
  }
  std::size_t kept = first_side_;
  for (std::size_t index = first_side_; index < sides_.size(); ++index) {
    if (place(sides_[index]))
      sides_[kept++] = sides_[index];
    else
      mark(sides_[index], Unjoined::no_id);
  }
  sides_.resize(kept);
  result_.recorded += recorded_;
  first_side_ = sides_.size();
  first_group_ = verdicts_.size();
  forget_process();
}

void GroupJoiner::forget_process() {
  sides_.resize(first_side_);
  verdicts_.resize(first_group_);
  communicators_.clear();
  recorded_ = 0;
}

// The strongest reason counts.
void GroupJoiner::mark(const Side& side, Unjoined reason) {
  std::uint8_t& verdict = verdicts_[side.group];
  const auto why = static_cast<std::uint8_t>(1 + static_cast<int>(reason));
  verdict = verdict == thinned ? why : std::max(verdict, why);
}

GroupJoin GroupJoiner::result() {
  if (bounds_ != nullptr)
    for (const std::uint32_t clock : clocks_) bounds_->note_groups(clock);
  const auto key = [](const Side& side) { return std::tie(side.id, side.from, side.to, side.sequence); };
  std::ranges::sort(sides_, [&](const Side& one, const Side& other) {
    return std::tuple_cat(key(one), std::tie(one.rank, one.kind)) <
           std::tuple_cat(key(other), std::tie(other.rank, other.kind));
  });
  for (const Side& side : sides_)
    if (verdicts_[side.group] == thinned) verdicts_[side.group] = 0;
  for (std::size_t begin = 0, end = 0; begin < sides_.size(); begin = end) {
    while (end < sides_.size() && key(sides_[end]) == key(sides_[begin])) ++end;
    look_at(begin, end);
  }
  for (const std::uint8_t verdict : verdicts_)
    ++(verdict == 0 ? result_.joined : verdict == thinned ? result_.not_looked_at : result_.not_joined[verdict - 1U]);
  return result_;
}

// All sides of one operation that were recorded.
void GroupJoiner::look_at(std::size_t begin, std::size_t end) {
  const Side& first = sides_[begin];
  const auto disagrees = [&](const Side& side) {
    return side.bytes != first.bytes || (!is_message(first.kind) && side.kind != first.kind);
  };
  const auto sides = std::span(sides_).subspan(begin, end - begin);
  const auto other = std::ranges::find_if(sides, disagrees);
  if (other != sides.end())
    note_difference(first, *other);
  else if (bounds_ != nullptr && sides.size() > 1 && first.bytes > 0)
    compare_times(sides);
  const bool all_there = sides.size() == expected(first);
  if (other == sides.end() && all_there) return;
  const Unjoined reason = other != sides.end()         ? Unjoined::different
                          : !have_traces(first)        ? Unjoined::no_trace
                          : lack_only_groupless(sides) ? Unjoined::no_groups
                                                       : Unjoined::not_recorded;
  for (const Side& side : sides) mark(side, reason);
}

// Of sides that agree. Of a message each is there once, or traces are not of one run.
void GroupJoiner::compare_times(std::span<const Side> sides) {
  std::vector<TimedSide> timed;
  for (const Side& side : sides) timed.push_back({side.clock, side.is_root, side.not_before, side.not_after});
  const Side& first = sides.front();
  if (!is_message(first.kind)) return bounds_->add_collective(first.kind, timed);
  if (sides.size() != 2 || first.kind == sides.back().kind) return;
  const bool sends = first.kind == Operation::send;
  bounds_->add_message(sends ? timed.front() : timed.back(), sends ? timed.back() : timed.front());
}

// How many sides it has.
std::size_t GroupJoiner::expected(const Side& side) const {
  return is_message(side.kind) ? 2 : static_cast<std::size_t>(std::max(sizes_.at(side.id), 0));
}

// Every rank that takes part.
bool GroupJoiner::have_traces(const Side& side) const {
  if (!is_message(side.kind)) return traced_.at(side.id) >= sizes_.at(side.id);
  return seen_.contains({side.id, side.from}) && seen_.contains({side.id, side.to});
}

// Whether the traces of all ranks without a side of it, which are there, have no groups at all.
bool GroupJoiner::lack_only_groupless(std::span<const Side> sides) const {
  const Side& side = sides.front();
  if (is_message(side.kind)) return groupless_.contains({side.id, side.rank == side.from ? side.to : side.from});
  const auto first = groupless_.lower_bound({side.id, std::numeric_limits<std::int32_t>::min()});
  const auto last = groupless_.upper_bound({side.id, std::numeric_limits<std::int32_t>::max()});
  return sides.size() + static_cast<std::size_t>(std::distance(first, last)) >= expected(side);
}

void GroupJoiner::note_difference(const Side& one, const Side& other) {
  if (!result_.first_difference.empty()) return;
  const auto part = [](const Side& side) {
    return formatted("%s of %llu bytes on rank %d", operation_names[static_cast<std::size_t>(side.kind)],
                     number(side.bytes), side.rank);
  };
  const std::string what =
      is_message(one.kind) ? formatted("message %llu from rank %d to rank %d", number(one.sequence), one.from, one.to)
                           : formatted("collective %llu", number(one.sequence));
  result_.first_difference =
      what + formatted(" of communicator %016llx: ", number(one.id)) + part(one) + ", " + part(other);
}

}  // namespace weft
