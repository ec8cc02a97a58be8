// A detached thread that takes one step after the other, and the ways in which threads of the main job make it pause or
// end. They wait for it only with a bound and never join it.
//
// Dispatcher derives from it and says what a step is. start(), pause(), resume() and stop() are called by threads of
// the main job inside the core's services, one at a time; the protected functions by the thread itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "detector/time.h"

namespace weft {

class Worker {
 public:
  Worker() = default;
  virtual ~Worker() = default;  // only when has_thread() is false
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool start();  // false: no thread could be started

  // Stops launching and waits until nothing is in flight. True: so it is, and groups_pending() is of a moment after
  // that. False: not within `limit`; launching goes on.
  bool pause(Duration limit);
  void resume() { pause_wanted_.store(0, std::memory_order_release); }
  // Issued by the main job, with a marker behind them, and not done.
  std::size_t groups_pending() const { return groups_pending_.load(std::memory_order_acquire); }

  // Ends the thread. True: it has ended, and nothing is in flight when nothing_in_flight() says so.
  bool stop(Duration limit);
  // Likewise, for a context that is about to go: no CUDA call is made after this has returned true.
  bool stop_without_cuda(Duration limit);
  // CPU time of the thread, once it has ended.
  Duration cpu_time() const { return cpu_time_.load(std::memory_order_relaxed); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // False: the object may be destroyed.
  bool has_thread() const { return started_.load() && !ended(); }
  bool nothing_in_flight() const { return nothing_in_flight_.load(std::memory_order_acquire); }

 protected:
  struct Work {
    std::size_t slices = 0;          // in flight
    std::size_t groups_pending = 0;  // see above
  };

  // Called first on the thread, then again and again, and once when one of them threw.
  virtual void prepare() = 0;
  virtual Work step(TimePoint now) = 0;
  virtual TimePoint next_look(TimePoint now, bool wanted) = 0;
  virtual Work fail() noexcept = 0;

  // For the step. Each may change at any time.
  bool launching_is_allowed() const;
  bool context_is_closing() const { return context_closing_.load(std::memory_order_acquire); }

 private:
  void live() noexcept;
  void run();
  void answer(const Work& work, std::uint64_t pause_wanted);
  bool is_over(TimePoint now);

  std::atomic<std::uint64_t> pause_wanted_{0};   // number of the pause that is asked for, 0: none
  std::atomic<std::uint64_t> pause_granted_{0};  // number of the last pause that was seen with nothing in flight
  std::uint64_t pauses_ = 0;                     // threads of the main job, one at a time
  std::atomic<bool> started_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> stop_wanted_{false};
  std::atomic<bool> context_closing_{false};
  std::atomic<bool> nothing_in_flight_{true};
  std::atomic<std::size_t> groups_pending_{0};
  std::atomic<Duration> cpu_time_{Duration{}};
  std::optional<TimePoint> stop_seen_;  // the thread's own
};

}  // namespace weft
