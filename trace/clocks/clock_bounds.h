// Bounds from the messages and collectives of a run, for each pair of clocks of which ranks met.
//
// Filled by GroupJoiner (trace/read/join.h) with operations whose sides it has joined, read by run_clocks.cpp. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "trace/clocks/pair_bounds.h"
#include "trace/record.h"

namespace weft {

// One rank's part in an operation, on the clock of its host.
struct TimedSide {
  static constexpr TimePoint never_begun = TimePoint::min(), never_ended = TimePoint::max();
  std::uint32_t clock = 0;             // its number, see host_clocks.h
  bool is_root = false;                // of a collective that has one
  TimePoint not_before = never_begun;  // it began then or later; never_begun: that was not seen
  TimePoint not_after = never_ended;   // it had ended then; never_ended: likewise
};

// Of a group, as far as its record tells; `offset`: by which a time namespace has set the rank's clock ahead.
TimedSide timed_side(const GroupRecord& group, std::uint32_t clock, Duration offset);

class ClockBounds {
 public:
  static constexpr std::size_t most_pairs = 4096;
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // base and other clock, the base is the lower one

  void add_message(const TimedSide& sender, const TimedSide& receiver);
  // All sides that were recorded.
  void add_collective(Operation kind, std::span<const TimedSide> sides);

  // Operations that reached one rank of a clock before another one had sent them: the ranks are not of one clock. By less
  // than `usual_lateness` it may be the records.
  struct TooEarly {
    std::uint64_t count = 0;
    Duration most{};
  };
  static constexpr Duration usual_lateness = std::chrono::milliseconds(1);

  // Whether or not another clock took part.
  void note_groups(std::uint32_t clock) { with_groups_.insert(clock); }

  std::map<Pair, PairBounds>& pairs() { return pairs_; }
  bool has_groups(std::uint32_t clock) const { return with_groups_.contains(clock); }
  std::uint64_t left_out() const { return left_out_; }  // operations between further pairs
  const std::map<std::uint32_t, TooEarly>& too_early() const { return too_early_; }

 private:
  struct Part;
  PairBounds* pair(std::uint32_t one, std::uint32_t other);
  void add_parts(const Part& base, const Part& other);
  void check(std::uint32_t clock, TimePoint sent, TimePoint received);

  std::map<Pair, PairBounds> pairs_;
  std::set<std::uint32_t> with_groups_;
  std::uint64_t left_out_ = 0;
  std::map<std::uint32_t, TooEarly> too_early_;
};

}  // namespace weft
