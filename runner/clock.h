// The one place of the core that reads time: CLOCK_MONOTONIC, the clock of every event, record and deadline.
//
// Any thread. The detector and the planner never include this.
#pragma once

#include <ctime>

#include "detector/time.h"

namespace weft {

inline TimePoint now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

// That the calling thread has used.
inline Duration cpu_time() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Sleeps until `time`, or shorter when a signal comes.
inline void sleep_until(TimePoint time) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const timespec target{static_cast<std::time_t>(seconds.count()),
                        static_cast<long>((time.time_since_epoch() - seconds).count())};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &target, nullptr);
}

// Waits on a thread of the main job until `condition` holds or `limit` is over; false: it does not hold.
template <class Condition>
bool wait_at_most(Duration limit, Condition condition) noexcept {
  const TimePoint deadline = now() + limit;
  while (!condition()) {
    const TimePoint time = now();
    if (time >= deadline) return false;
    sleep_until(time + std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace weft
