// The time at which a command arrives, read for every one of them: CLOCK_MONOTONIC, carried forward for a moment by the
// time-stamp counter, which costs less than half. Engine::submit() asks it under the engine's lock, on any thread;
// nobody else may. Where the counter cannot be trusted every answer is the clock's own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/time.h"

namespace simgpu {

// The counter and the clock of this machine.
struct MachineCounter {
  static uint64_t ticks() { return __builtin_ia32_rdtsc(); }
  static Time time() { return now(); }
  // Steady and equal on all processors: the kernel has checked it and keeps its own time by it.
  static bool reliable();
};

template <class Source = MachineCounter>
class ArrivalClock {
 public:
  ArrivalClock() : reliable_(Source::reliable()) {}

  // Never earlier than what it has said before.
  Time now() {
    const uint64_t passed = Source::ticks() - read_.ticks;
    if (passed >= window_) return read();
    last_ = std::max(last_, read_.time + Duration(static_cast<int64_t>((passed * rate_) >> fraction)));
    return last_;
  }

 private:
  struct Reading {
    uint64_t ticks = 0;
    Time time{};
  };
  static constexpr unsigned fraction = 32;  // binary digits of rate_ behind the point
  // Carried forward for so long at most: a rate that is wrong by a part in 10^4 is off by 10 ns then.
  static constexpr uint64_t window = 100'000;
  // A rate from readings so far apart is that good, even when each is wrong by a microsecond. Farther apart than the
  // second it does not fit into 64 bits.
  static constexpr int64_t least_span = 20'000'000;
  static constexpr int64_t most_span = 4'000'000'000;
  static constexpr uint64_t quick_ticks = 2000;  // between two looks at the counter, when nothing came in between

  // Both at the same moment; false when something came in between, such as another thread on this processor.
  static bool read_both(Reading& reading) {
    const uint64_t before = Source::ticks();
    reading.time = Source::time();
    const uint64_t passed = Source::ticks() - before;
    reading.ticks = before + passed / 2;
    return passed < quick_ticks;
  }

  Time read() {
    Reading reading;
    const bool exact = read_both(reading);
    last_ = std::max(last_, reading.time);
    window_ = 0;
    if (!reliable_ || !exact) return last_;
    measure_rate(reading);
    if (rate_ == 0) return last_;
    read_ = reading;
    window_ = (window << fraction) / rate_;
    return last_;
  }

  void measure_rate(const Reading& reading) {
    const int64_t span = (reading.time - anchor_.time).count();
    if (anchor_.ticks == 0 || span >= most_span) {
      anchor_ = reading;
    } else if (span >= least_span) {
      const uint64_t ticks = std::max<uint64_t>(reading.ticks - anchor_.ticks, 1);
      const uint64_t rate = (static_cast<uint64_t>(span) << fraction) / ticks;
      // A counter that was set, as when a virtual machine moves, is measured anew.
      const bool steady = rate_ == 0 || std::max(rate, rate_) - std::min(rate, rate_) <= rate_ / 1000;
      rate_ = steady ? rate : 0;
      if (!steady) anchor_ = reading;
    }
  }

  const bool reliable_;
  uint64_t window_ = 0;  // ticks after read_ in which it is carried forward
  uint64_t rate_ = 0;    // nanoseconds per tick; 0: not known yet
  Reading read_;         // what is carried forward
  Reading anchor_;       // where the measurement of the rate begins
  Time last_ = Time::min();
};

}  // namespace simgpu
