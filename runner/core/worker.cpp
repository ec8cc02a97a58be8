// See worker.h.
#include "runner/core/worker.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <exception>

#include "runner/clock.h"
#include "runner/own_thread.h"

namespace weft {
namespace {

constexpr Duration longest_end = std::chrono::milliseconds(500);  // of slices in flight, at the end
// A look asks the driver, whose locks the main job's launches need too.
constexpr Duration between_looks_awake = std::chrono::microseconds(5);

// Leaves the other thread of the core, which may be the main job's, what it needs.
void wait_awake(TimePoint until) {
  while (now() < until) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

}  // namespace

bool Worker::start() {
  const bool started = start_own_thread([this] { live(); });
  started_.store(started);
  return started;
}

void Worker::live() noexcept {
  try {
    pthread_setname_np(pthread_self(), "weft-dispatch");
    prctl(PR_SET_TIMERSLACK, 1UL);
    // Makes the thread's place for exceptions now: where there is no memory for it later, the loader ends the process.
    [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
    prepare();
    run();
  } catch (...) {
    // Only memory can run out here.
    nothing_in_flight_.store(fail().slices == 0, std::memory_order_release);
  }
  cpu_time_.store(weft::cpu_time(), std::memory_order_relaxed);
  ended_.store(true, std::memory_order_release);
}

void Worker::run() {
  for (;;) {
    // From before the step, so that what was asked for has seen a whole one.
    const std::uint64_t pause_wanted = pause_wanted_.load(std::memory_order_acquire);
    const bool stop_wanted = stop_wanted_.load(std::memory_order_acquire);
    const TimePoint begin = now();
    answer(step(begin), pause_wanted);
    const TimePoint time = now();
    if (stop_wanted && is_over(time)) return;
    const bool wanted =
        pause_wanted_.load(std::memory_order_acquire) != 0 || stop_wanted_.load(std::memory_order_acquire);
    const TimePoint next = next_look(time, wanted);
    next > time ? sleep_until(next) : wait_awake(begin + between_looks_awake);
  }
}

// Tells a waiting thread of the main job where this one stands.
void Worker::answer(const Work& work, std::uint64_t pause_wanted) {
  groups_pending_.store(work.groups_pending, std::memory_order_release);
  nothing_in_flight_.store(work.slices == 0, std::memory_order_release);
  if (pause_wanted != 0 && work.slices == 0) pause_granted_.store(pause_wanted, std::memory_order_release);
}

bool Worker::is_over(TimePoint now) {
  if (!stop_seen_) stop_seen_ = now;
  return context_is_closing() || nothing_in_flight() || now - *stop_seen_ > longest_end;
}

bool Worker::launching_is_allowed() const {
  return pause_wanted_.load(std::memory_order_acquire) == 0 && !stop_wanted_.load(std::memory_order_acquire) &&
         !context_is_closing();
}

bool Worker::pause(Duration limit) {
  if (!started_.load()) return true;
  const std::uint64_t number = ++pauses_;
  pause_wanted_.store(number, std::memory_order_release);
  const auto granted = [&] { return pause_granted_.load(std::memory_order_acquire) == number || ended(); };
  if (wait_at_most(limit, granted) && nothing_in_flight()) return true;
  resume();
  return false;
}

bool Worker::stop(Duration limit) {
  if (!started_.load()) return true;
  stop_wanted_.store(true, std::memory_order_release);
  return wait_at_most(limit, [&] { return ended(); });
}

bool Worker::stop_without_cuda(Duration limit) {
  context_closing_.store(true);
  return stop(limit);
}

}  // namespace weft
