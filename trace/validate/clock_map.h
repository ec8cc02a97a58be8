// From CUPTI's clock to CLOCK_MONOTONIC, by moments at which both were read. Pure; used by the command and tests.
//
// The two go at slightly different speeds, and a clock that follows the time of day may be set: between two readings
// the way is a straight line, before the first and after the last one that of the nearest two.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

struct ClockReading {
  std::int64_t before = 0;  // CLOCK_MONOTONIC, then
  std::int64_t cupti = 0;   // CUPTI's clock, then
  std::int64_t after = 0;   // CLOCK_MONOTONIC again
};

class ClockMap {
 public:
  explicit ClockMap(std::vector<ClockReading> readings);  // in any order

  // False: one clock stood still or went back while the other went on, so that converted times mean nothing.
  bool rises() const { return rises_; }
  std::int64_t monotonic(std::int64_t cupti) const;
  // By how much a converted time may be wrong: what a reading leaves open, and how far one is from the line between
  // its neighbours. CUPTI's own conversion from the clock of the GPU is not in it.
  std::int64_t uncertainty() const { return uncertainty_; }

 private:
  struct Point {
    std::int64_t cupti, monotonic;
  };
  static std::int64_t on_line(const Point& one, const Point& other, std::int64_t cupti);

  std::vector<Point> points_;
  std::int64_t uncertainty_ = 0;
  bool rises_ = true;
};

}  // namespace weft
