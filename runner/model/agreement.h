// How far reported idle time is true: both as intervals, each in the order of time, compared as they come.
//
// Used by the model of a rank. Pure; keeps only what the other side has not got to yet.
#pragma once

#include <algorithm>
#include <deque>

#include "detector/time.h"

namespace weft::model {

class Agreement {
 public:
  void add_true(TimePoint begin, TimePoint end) {
    true_ += end - begin;
    match(begin, end, known_true_, known_reported_);
  }
  void add_reported(TimePoint begin, TimePoint end) {
    reported_ += end - begin;
    match(begin, end, known_reported_, known_true_);
  }

  Duration both() const { return both_; }
  Duration true_time() const { return true_; }
  Duration reported() const { return reported_; }

 private:
  struct Interval {
    TimePoint begin, end;
  };
  using Intervals = std::deque<Interval>;

  // The new one with all that the other side has so far. One that ends before it can meet nothing that is still to
  // come.
  void match(TimePoint begin, TimePoint end, Intervals& own, Intervals& others) {
    while (!others.empty() && others.front().end <= begin) others.pop_front();
    for (const Interval& other : others)
      both_ += std::max(std::min(end, other.end) - std::max(begin, other.begin), Duration{});
    own.push_back({begin, end});
  }

  Intervals known_true_, known_reported_;
  Duration true_{}, reported_{}, both_{};
};

}  // namespace weft::model
