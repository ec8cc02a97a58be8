// See the header.
#include "trace/clocks/clock_bounds.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "trace/clocks/clock_offset.h"

namespace weft {
namespace {

// A look that took longer says nothing.
constexpr Duration longest_within = std::chrono::hours(1);

bool is_believable(TimePoint time, Duration within) {
  return time >= TimePoint{} && time <= TimePoint{farthest_time} && within >= Duration{} && within <= longest_within;
}

// Which ranks hold data of which others when they are through with it.
enum class Flow : std::uint8_t { none, all_to_all, from_root, to_root };

Flow flow_of(Operation kind) {
  switch (kind) {
    case Operation::all_reduce:
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_to_all:
      return Flow::all_to_all;
    case Operation::broadcast:
    case Operation::scatter:
      return Flow::from_root;
    case Operation::reduce:
    case Operation::gather:
      return Flow::to_root;
    default:
      return Flow::none;
  }
}

}  // namespace

TimedSide timed_side(const GroupRecord& group, std::uint32_t clock, Duration offset) {
  TimedSide side;
  side.clock = clock;
  const Duration namespace_offset = std::clamp(offset, -farthest_time, farthest_time);
  if (group.begun_known && is_believable(group.begun, group.begun_within))
    side.not_before = group.begun - group.begun_within - namespace_offset;
  if (group.ended_known && is_believable(group.ended, group.ended_within))
    side.not_after = group.ended + group.ended_within - namespace_offset;
  return side;
}

// The sides of a collective on one clock, of those that count.
struct ClockBounds::Part {
  std::uint32_t clock = 0;
  TimePoint latest_begin = TimedSide::never_begun;  // of those that give data
  TimePoint earliest_end = TimedSide::never_ended;  // of those that take it
};

PairBounds* ClockBounds::pair(std::uint32_t one, std::uint32_t other) {
  const Pair key = std::minmax(one, other);
  const auto known = pairs_.find(key);
  if (known != pairs_.end()) return &known->second;
  if (pairs_.size() == most_pairs) {
    ++left_out_;
    return nullptr;
  }
  return &pairs_[key];
}

void ClockBounds::check(std::uint32_t clock, TimePoint sent, TimePoint received) {
  if (sent - received <= usual_lateness) return;
  TooEarly& too_early = too_early_[clock];
  ++too_early.count;
  too_early.most = std::max(too_early.most, sent - received);
}

void ClockBounds::add_message(const TimedSide& sender, const TimedSide& receiver) {
  if (sender.not_before == TimedSide::never_begun || receiver.not_after == TimedSide::never_ended) return;
  if (sender.clock == receiver.clock) return check(sender.clock, sender.not_before, receiver.not_after);
  PairBounds* const bounds = pair(sender.clock, receiver.clock);
  if (bounds == nullptr) return;
  bounds->count_message();
  if (sender.clock < receiver.clock)
    bounds->add_to_other(sender.not_before, receiver.not_after);
  else
    bounds->add_to_base(sender.not_before, receiver.not_after);
}

void ClockBounds::add_collective(Operation kind, std::span<const TimedSide> sides) {
  const Flow flow = flow_of(kind);
  if (flow == Flow::none) return;
  std::map<std::uint32_t, Part> parts;
  for (const TimedSide& side : sides) {
    Part& part = parts[side.clock];
    part.clock = side.clock;
    if (flow != Flow::from_root || side.is_root) part.latest_begin = std::max(part.latest_begin, side.not_before);
    if (flow != Flow::to_root || side.is_root) part.earliest_end = std::min(part.earliest_end, side.not_after);
  }
  for (const auto& [clock, part] : parts)
    if (part.latest_begin != TimedSide::never_begun && part.earliest_end != TimedSide::never_ended)
      check(clock, part.latest_begin, part.earliest_end);
  // Every clock with one of them: all pairs would be too many.
  const auto root = std::ranges::find_if(sides, &TimedSide::is_root);
  const Part& hub = flow != Flow::all_to_all && root != sides.end() ? parts.at(root->clock) : parts.begin()->second;
  for (const auto& [clock, other] : parts)
    if (clock != hub.clock) add_parts(clock < hub.clock ? other : hub, clock < hub.clock ? hub : other);
}

void ClockBounds::add_parts(const Part& base, const Part& other) {
  const bool to_other = base.latest_begin != TimedSide::never_begun && other.earliest_end != TimedSide::never_ended;
  const bool to_base = other.latest_begin != TimedSide::never_begun && base.earliest_end != TimedSide::never_ended;
  PairBounds* const bounds = to_other || to_base ? pair(base.clock, other.clock) : nullptr;
  if (bounds == nullptr) return;
  bounds->count_collective();
  if (to_other) bounds->add_to_other(base.latest_begin, other.earliest_end);
  if (to_base) bounds->add_to_base(other.latest_begin, base.earliest_end);
}

}  // namespace weft
