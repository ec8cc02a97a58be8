// How far one clock is ahead of another one, as a function of the latter's time: straight lines between knots, each
// with how far the truth may be away.
//
// Made by pair_fit.cpp from messages, put together by run_clocks.cpp, read by whoever moves times to another clock. In
// the weft command only. Pure. Times far away, as of a damaged trace, are cut off: no number overflows.
#pragma once

#include <cstddef>
#include <vector>

#include "detector/time.h"

namespace weft {

// Farther no time and no offset is that counts; sums of some of them are still numbers.
constexpr Duration farthest_time{std::int64_t{1} << 59};

struct KnownOffset {
  Duration ahead{};   // the other clock, of the base
  Duration within{};  // the truth is not farther away
};

class ClockOffset {
 public:
  struct Knot {
    TimePoint time{};  // on the base clock
    Duration ahead{}, within{};
  };
  static constexpr std::size_t most_knots = 320;

  ClockOffset() : knots_(1) {}  // the same clock
  explicit ClockOffset(Duration ahead) : knots_{{TimePoint{}, ahead, Duration{}}} {}
  // In the order of their times, at least one. Of more than `most_knots` half are left out, and where these are the
  // interval is wider. Before the first and behind the last one the other clock gains by
  // `rate`, which may be wrong by `rate_within`: shares, 1e-6 is 1 ppm.
  ClockOffset(std::vector<Knot> knots, double rate, double rate_within);

  KnownOffset at(TimePoint time) const;
  // The same with knots at both times, where it has none before and behind them.
  ClockOffset reaching(TimePoint from, TimePoint to) const;
  // How far the base is ahead of the other clock, on that one's time.
  ClockOffset inverse() const;
  // `next`: a third clock, seen from the other one. How far that is ahead of the base.
  ClockOffset then(const ClockOffset& next) const;
  const std::vector<Knot>& knots() const { return knots_; }
  double rate() const { return rate_; }
  double rate_within() const { return rate_within_; }
  // From the first knot to the last, and from `from` to `to`, as far as that is more.
  Duration median_within(TimePoint from = TimePoint::max(), TimePoint to = TimePoint::min()) const;
  Duration most_within(TimePoint from = TimePoint::max(), TimePoint to = TimePoint::min()) const;

 private:
  // The time of its knot means nothing.
  bool is_constant() const { return knots_.size() == 1 && rate_ == 0 && rate_within_ == 0; }
  void add(Knot knot);
  void thin_out();

  std::vector<Knot> knots_;
  double rate_ = 0, rate_within_ = 0;
};

}  // namespace weft
