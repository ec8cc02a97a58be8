// The one thread of a device: empties the ring, reads the words, steps the detector, asks the planner, launches slices,
// writes records. While the host waits it asks streams whether they have run dry.
//
// The object is made, started, paused and stopped by threads of the main job inside the core's services; they wait for
// the thread only with a bound and never join it. In a bubble the thread launches, enqueues and reads memory, no more.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "detector/detector.h"
#include "runner/core/drains.h"
#include "runner/core/driver.h"
#include "runner/core/event_router.h"
#include "runner/core/marker_board.h"
#include "runner/fill/filler.h"
#include "runner/policy/accounts.h"
#include "runner/policy/budget.h"
#include "runner/policy/planner.h"
#include "trace/write/writer.h"

namespace weft {

struct DispatcherOptions {
  Duration poll{50'000};
  PlannerOptions planner{};
  double slowdown_budget = Budget::unlimited;
  std::string label;           // "rank 3", for messages
  std::uint32_t queues = 8;    // hardware queues of the device
  bool speaks_for_all = true;  // what is as a rule the same on every rank is said by one
};

// What a dispatcher works with; everything outlives its thread.
struct DispatcherParts {
  const ShimServices* shim = nullptr;
  EventRouter* router = nullptr;
  const Driver* driver = nullptr;
  TraceWriter* trace = nullptr;  // nullptr: no trace could be opened
  Filler* filler = nullptr;      // nullptr: observe only
  CUcontext context = nullptr;
  int device = 0;
  MarkerWords words{};
};

class Dispatcher {
 public:
  Dispatcher(const DispatcherParts& parts, DispatcherOptions options);

  bool start();  // false: no thread could be had

  // Stops launching and waits for what is in flight. True: nothing is in flight, and groups_pending() is of a moment
  // after that. False: not within `limit`; launching goes on. One caller at a time.
  bool pause(Duration limit);
  void resume();
  std::size_t groups_pending() const { return groups_pending_.load(std::memory_order_acquire); }

  // Ends the thread. True: it has ended, and nothing is in flight when drained() says so.
  bool stop(Duration limit);
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  // False: the object may be destroyed.
  bool has_thread() const { return started_.load() && !ended(); }
  bool drained() const { return drained_.load(std::memory_order_acquire); }
  // Likewise, for a context that is about to go: no CUDA call is made after this has returned true.
  bool stop_without_cuda(Duration limit);

  // Ends filling for the run, says why once, writes it into the trace. Any thread of the core.
  void stop_filling(const std::string& reason);
  // Hands a record to the thread, which is the only one that may push it while it runs. Any thread.
  void submit(const Record& record);

  // Before start(): filling was asked for and cannot be; goes into trace and summary.
  void note_set_up_failure(const std::string& text);

  // After the thread has ended, or before it has started.
  TraceSummary summary() const;

 private:
  static void* thread_main(void* self);
  void prepare_thread();
  void run();
  void step();
  void gather(TimePoint time);
  void take(const Event& event);
  void take(const Finding& finding);
  void fill(TimePoint time);
  void launch_what_fits();
  Unfilled why_unfilled(const Bubble& bubble) const;
  void take_iteration(const Iteration& iteration);
  SlowdownRecord slowdown_record(const Budget::State& state) const;
  void look_at_limits();
  void end_filling(const std::string& reason, bool silently);
  void push_inbox();
  void push(const Record& record);
  void answer(std::uint64_t pause_wanted);
  bool finished(TimePoint time);
  bool launching_is_wanted() const;
  TimePoint next_look(TimePoint time) const;
  Record anomaly(TimePoint time, const std::string& text, bool stops_filling) const;

  const DispatcherParts parts_;
  const DispatcherOptions options_;
  Detector detector_;
  MarkerBoard board_;
  Drains drains_;
  Accounts accounts_;
  std::uint64_t last_filled_ = 0;  // id of the latest bubble in which a slice was launched
  Budget budget_;

  std::atomic<std::uint64_t> pause_wanted_{0};   // number of the pause that is asked for, 0: none
  std::atomic<std::uint64_t> pause_granted_{0};  // number of the last pause that was seen with nothing in flight
  std::uint64_t pauses_ = 0;                     // threads of the main job, one at a time
  std::atomic<bool> started_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> stop_wanted_{false};
  std::atomic<bool> context_closing_{false};
  std::atomic<bool> filling_forbidden_{false};
  std::atomic<bool> drained_{true};
  std::atomic<std::size_t> groups_pending_{0};
  std::mutex inbox_mutex_;
  std::vector<Record> inbox_;  // guarded by inbox_mutex_
  std::string stop_reason_;    // guarded by inbox_mutex_
  std::atomic<bool> inbox_filled_{false};

  // The thread's own.
  std::vector<Event> events_;
  std::vector<Event> answers_;
  std::vector<SliceRecord> slices_;
  TimePoint last_look_{};
  std::optional<TimePoint> stop_seen_;
  std::optional<TimePoint> again_;
  int captures_open_ = 0;
  std::uint64_t last_iteration_ = 0;
  std::uint64_t events_dropped_ = 0;
  std::uint64_t lost_before_ = 0;  // of the process's events, before this dispatcher
  bool table_was_full_ = false;
  bool filling_ = false;
};

}  // namespace weft
