// Bounds of how far one clock, the other, is ahead of another one, the base, from messages. Nothing arrives before it
// is sent: a message from the base to the other clock says how far that is ahead at most, one back how far at least.
//
// Filled by clock_bounds.cpp, read by pair_fit.cpp. Pure. Memory is bounded: of more bounds than are kept the tighter
// one of each two neighbours stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "detector/time.h"

namespace weft {

struct ClockBound {
  TimePoint time{};  // on the base clock
  Duration ahead{};  // at that time, at most or at least
};

// The corners of the line that lies under all bounds (most) or above them (least), in the order of their times. Only
// these decide which straight lines contradict no bound. `bounds` are in the order of their times.
std::vector<ClockBound> corners(std::span<const ClockBound> bounds, bool are_most);

// Bounds of one kind. Once there are too many, the tightest one of each two neighbours stays, and of those that come
// later the tightest of as many as it then takes.
class BoundList {
 public:
  BoundList(bool are_most, std::size_t most_kept) : are_most_(are_most), most_kept_(most_kept) {}
  void add(const ClockBound& bound);
  void finish();  // no more come
  // In the order of their times, after finish().
  const std::vector<ClockBound>& sorted() const { return bounds_; }

 private:
  void thin_out();
  double height(const ClockBound& bound) const;
  bool is_tighter(const ClockBound& one, const ClockBound& other) const;

  bool are_most_;
  std::size_t most_kept_;
  std::vector<ClockBound> bounds_;
  // Clocks drift: which bound is tighter is seen along a line.
  ClockBound from_{};
  double rise_ = 0;
  std::size_t together_ = 1, waiting_ = 0;  // bounds of which one is kept; how many came since
  ClockBound best_{};                       // of those
};

class PairBounds {
 public:
  explicit PairBounds(std::size_t most_kept = 2048) : most_(true, most_kept), least_(false, most_kept) {}

  // Whatever came to the other clock's side at `received` had not left the base before `sent`.
  void add_to_other(TimePoint sent, TimePoint received) { most_.add({sent, received - sent}); }
  void add_to_base(TimePoint sent, TimePoint received) { least_.add({received, sent - received}); }
  void count_message() { ++messages_; }
  void count_collective() { ++collectives_; }

  void finish() { most_.finish(), least_.finish(); }  // no more come
  // In the order of their times, after finish().
  const std::vector<ClockBound>& most() const { return most_.sorted(); }
  const std::vector<ClockBound>& least() const { return least_.sorted(); }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t collectives() const { return collectives_; }

 private:
  BoundList most_, least_;
  std::uint64_t messages_ = 0, collectives_ = 0;
};

}  // namespace weft
