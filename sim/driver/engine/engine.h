// The simulated GPU of this process: takes commands, keeps logical time, runs kernels, copies and the rest.
// Called by the API functions on any thread; its own thread ("simgpu") sleeps until the next event or a ring of the
// doorbell. Under lock() nobody may call the driver API, block or do long work.
//
// Logical time: the engine computes when each thing happens and handles things in that order, even when its thread
// wakes late. It never handles anything earlier than clock(), the time of the last thing it has handled.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/arrival_clock.h"
#include "engine/command.h"
#include "engine/doorbell.h"
#include "engine/objects.h"
#include "engine/settings.h"

namespace simgpu {

// Things that a host call would wait for on hardware. Names appear in hazard records as they are passed.
enum class Drain {
  spinning_kernels,  // until no spinning kernel is resident: allocation, lazy loading, first launch, stream creation
  all_work,          // until the device is idle: cuMemFree, cuCtxDestroy, ...
};

// Whom such a call holds up meanwhile: its own thread, or launches of all other threads on the device as well. As the
// probe memory_calls_next_to_spin found on an H200.
enum class Held { own_thread, all_launches };

class Scheduler;

class Engine {
 public:
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::mutex& lock() { return lock_; }

  // --- work ---------------------------------------------------------------------------------------------------------
  // Everything that puts work on a stream goes through here. A capturing stream gets a graph node instead (capture.h).
  CUresult submit(Stream& stream, Command&& command);

  // The same for all streams of a context: those that have work left are recorded; those that are made later wait, too.
  CUresult record(Context& context, Event& event);
  CUresult make_wait(Context& context, Event& event);

  // --- waiting (without the lock) -----------------------------------------------------------------------------------
  // Blocks until the condition holds; it is evaluated under the lock, after each step of the engine.
  void wait(const std::function<bool()>& condition);
  CUresult synchronize(Stream& stream);    // everything submitted so far; CUDA_SUCCESS or the sticky error
  CUresult synchronize(Context& context);  // all streams of the context
  CUresult query(Stream& stream);
  // The strict adversary: waits as hardware would, says so in the log as a hazard when a spinning kernel is resident,
  // and on stderr when it has waited for more than a second. `call` is the API function's name (static storage).
  void wait_for_idle_device(Device& device, const char* call, Drain drain, Held held = Held::own_thread);

  // --- objects ------------------------------------------------------------------------------------------------------
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  Context* create_context(Device& device, unsigned flags, bool primary);
  // Without connections it has no hardware queues of its own.
  Context* create_green_context(Context& primary, unsigned connections, const SmShare& share);
  void destroy_context(Context& context);                                 // waits for its work
  Stream* create_stream(Context& context, StreamKind kind, unsigned flags, int priority);
  void destroy_stream(Stream& stream);  // retires the handle; pending work still runs
  Event* create_event(Context& context, unsigned flags);
  void destroy_event(Event& event);
  CUresult query(Event& event);
  CUresult synchronize(Event& event);
  CUresult elapsed(Event& from, Event& to, float& milliseconds);

  // --- memory accounting and faults ---------------------------------------------------------------------------------
  // One call per allocation that the application asks for; true: answer CUDA_ERROR_OUT_OF_MEMORY ("alloc@N").
  bool allocation_fault();
  // After an allocation or free: the device's total goes into the log.
  void note_memory(Device& device);
  void poison(Context& context, CUresult error);  // a sticky error; all pending work of the device is dropped

  // --- the rest -----------------------------------------------------------------------------------------------------
  Time clock();  // logical time of the last thing handled
  void stop();   // at the end of the process: writes the logs, begins nothing new
  void ring();   // wakes the engine's thread and makes it look at spinning kernels
  int doorbell_fd() const;
  void log(Device& device, const std::string& json_object);
  const Settings& settings() const { return settings_; }

 private:
  friend Engine& engine();
  struct Waiter {
    const std::function<bool()>* condition = nullptr;
    bool ready = false;
    std::condition_variable wake;
  };
  struct Stall {
    const char* call = nullptr;
    Device* device = nullptr;
    uint32_t thread = 0;
    Time since{};
    bool reported = false;
  };
  using Guard = std::unique_lock<std::mutex>;
  struct Kind {
    unsigned flags = 0;
    bool primary = false;
    Context* green_of = nullptr;
    unsigned connections = 0;
    SmShare share;
  };

  Engine();
  void run();  // the engine's own thread
  void leave(Guard& guard);
  void wait_locked(Guard& guard, const std::function<bool()>& condition);
  bool is_full(const Stream& stream) const;
  CUresult wait_for_entry(Guard& guard, const Stream& stream);
  CUresult wait_for_entries(Guard& guard, const Context& context);
  Time next_wake() const;
  void report_stalls(Time present);
  void flush_logs(Guard& guard, Time present);
  Context* create_context(Device& device, const Kind& kind);
  std::vector<Context*> green_contexts_of(const Context& context);
  bool drained(const Context& context, uint64_t limit) const;
  bool drained_with_green(const Context& context, uint64_t limit) const;
  bool drained(const Stream& stream, uint64_t limit) const;

  std::mutex lock_;
  const Settings settings_;
  ArrivalClock<> arrivals_;  // [lock]
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Scheduler> scheduler_;
  Doorbell doorbell_;
  std::atomic<uint32_t> internal_rings_{0};  // those that only mean "the next event is earlier than you think"
  bool thread_started_ = false;
  bool stopping_ = false;
  Time sleep_until_ = Time::min();  // Time::min(): the thread is awake
  Time flush_at_ = Time::max();
  std::vector<Waiter*> waiters_;
  std::vector<Stall*> stalls_;
  uint64_t allocations_ = 0;
  uint64_t next_context_ = 1;
  uint64_t next_stream_ = 1;
};

// Valid between cuInit and the end of the process; never destroyed. API functions check ready() (api.h) first.
Engine& engine();

}  // namespace simgpu
