// The time of an event, which every hook that notes one asks for: CLOCK_MONOTONIC, carried forward for a moment by the
// time-stamp counter, which costs a third of it.
//
// Hooks, any thread. No lock: a thread that finds the reading too old asks the clock, and leaves what it read to the
// others unless one of them is doing so just now. Zeroed memory asks the clock always. Tested alone in
// tests/shim/event_clock_test.cpp.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "detector/time.h"

namespace weft {

// The counter and the clock of this machine.
struct MachineTime {
  static std::uint64_t ticks() noexcept { return __builtin_ia32_rdtsc(); }
  static TimePoint time() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

template <class Source>
struct EventClock {
  // All in nanoseconds. The rate is measured over least_span to most_span (longer would overflow). A reading is
  // extrapolated for at most 1/20 of that span, so 100 ns of error at either end become 10 ns, less than the time
  // between two events of one thread. It is never extrapolated for longer than most_window, because the kernel may
  // change the speed of its clock.
  static constexpr std::int64_t least_span = 20'000'000;
  static constexpr std::int64_t most_span = 4'000'000'000;
  static constexpr std::int64_t span_of_window = 20;
  static constexpr std::int64_t most_window = 10'000'000;
  static constexpr std::uint64_t quick_ticks = 2000;  // between two looks at the counter, when nothing came in between
  static constexpr unsigned fraction = 32;            // binary digits of the rate behind the point

  [[gnu::always_inline]] TimePoint now() noexcept {
    // Each load before the next one: the version that is read last tells whether the others belong together.
    const std::uint32_t before = version.load(std::memory_order_acquire);
    const std::uint64_t from = ticks.load(std::memory_order_acquire);
    const std::int64_t then = time.load(std::memory_order_acquire);
    const std::uint64_t speed = rate.load(std::memory_order_acquire);
    const std::uint64_t limit = window.load(std::memory_order_acquire);
    const std::uint64_t passed = Source::ticks() - from;
    if (passed >= limit || (before & 1) != 0 || version.load(std::memory_order_relaxed) != before) return ask();
    return TimePoint(Duration(then + static_cast<std::int64_t>((passed * speed) >> fraction)));
  }

  // The time of an event of the thread that has noted one at `last`, and keeps it there: never an earlier one, also
  // when the clock is slowed down and what was carried forward was ahead of it. The pair of a wait's begin and end is
  // sorted by their times.
  [[gnu::always_inline]] TimePoint now_after(TimePoint& last) noexcept {
    const TimePoint told = now();
    if (told > last) last = told;
    return last;
  }

  // Asks the clock, and measures it against the counter where that is trusted.
  [[gnu::noinline]] TimePoint ask() noexcept {
    if (!trusted.load(std::memory_order_relaxed)) return Source::time();
    const std::uint64_t begin = Source::ticks();
    const TimePoint now = Source::time();
    const std::uint64_t passed = Source::ticks() - begin;
    std::uint32_t mine = version.load(std::memory_order_relaxed) & ~1u;
    if (passed < quick_ticks && version.compare_exchange_strong(mine, mine + 1, std::memory_order_acq_rel)) {
      keep(begin + passed / 2, now.time_since_epoch().count());
      version.store(mine + 2, std::memory_order_release);
    }
    return now;
  }

  void keep(std::uint64_t counter, std::int64_t clock) noexcept {
    measure_rate(counter, clock);
    ticks.store(counter, std::memory_order_relaxed);
    time.store(clock, std::memory_order_relaxed);
  }

  void measure_rate(std::uint64_t counter, std::int64_t clock) noexcept {
    const std::int64_t span = clock - first_time;
    if (first_ticks == 0 || span >= most_span) return begin_again(counter, clock);
    if (span < least_span) return;
    const std::uint64_t known = rate.load(std::memory_order_relaxed);
    const std::uint64_t passed = counter > first_ticks ? counter - first_ticks : 1;
    const std::uint64_t measured = (static_cast<std::uint64_t>(span) << fraction) / passed;
    const std::uint64_t change = measured > known ? measured - known : known - measured;
    const bool steady = known == 0 || change <= known / 1000;
    // A counter that was set, as when a virtual machine moves, is measured anew.
    if (!steady) begin_again(counter, clock);
    const auto reach =
        static_cast<std::uint64_t>(span / span_of_window < most_window ? span / span_of_window : most_window);
    rate.store(steady ? measured : 0, std::memory_order_relaxed);
    window.store(steady ? (reach << fraction) / measured : 0, std::memory_order_relaxed);
  }

  void begin_again(std::uint64_t counter, std::int64_t clock) noexcept {
    first_ticks = counter;
    first_time = clock;
  }

  std::atomic<std::uint32_t> version;  // odd: somebody writes what stands below
  std::atomic<bool> trusted;
  std::atomic<std::uint64_t> ticks;   // of the reading that is carried forward
  std::atomic<std::int64_t> time;     // likewise, in nanoseconds
  std::atomic<std::uint64_t> rate;    // nanoseconds per tick; 0: not known
  std::atomic<std::uint64_t> window;  // ticks after the reading
  std::uint64_t first_ticks;  // where the measurement of the rate begins; for the thread that made the version odd
  std::int64_t first_time;
};

extern EventClock<MachineTime> event_clock;

// The counter is steady and equal on all processors: the kernel has checked it and keeps its own time by it. Reads a
// file; not for hooks.
bool kernel_trusts_counter() noexcept;

}  // namespace weft
