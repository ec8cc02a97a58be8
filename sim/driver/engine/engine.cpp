// The engine's thread, waiting, and the way in for work; see engine.h. Contexts, streams and events are in objects.cpp.
#include "engine/engine.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "engine/capture_hooks.h"
#include "engine/scheduler.h"
#include "engine/slab.h"

namespace simgpu {
namespace {

constexpr Duration flush_period = std::chrono::milliseconds(100);
constexpr Duration long_stall = std::chrono::seconds(1);

bool is_launch(const Command& command) {
  return std::holds_alternative<KernelCommand>(command) || std::holds_alternative<GraphCommand>(command);
}

}  // namespace

Engine::Engine() : settings_(read_settings()) {
  for (int ordinal = 0; ordinal < settings_.devices; ++ordinal) {
    devices_.push_back(std::make_unique<Device>(ordinal, settings_.memory));
    devices_.back()->model = std::make_unique<DeviceModel>(settings_.multiprocessors);
  }
  scheduler_ = std::make_unique<Scheduler>(settings_, devices_, lock_, [this](Guard& guard) { leave(guard); });
}

Engine& engine() {
  static auto* const instance = new Engine;
  return *instance;
}

// --- the engine's thread
// ----------------------------------------------------------------------------------------------

void Engine::run() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (settings_.realtime) take_precedence(Precedence::engine);
  uint32_t rings_seen = 0;
  Guard guard(lock_);
  while (!stopping_) {
    const uint32_t word = doorbell_.rings();
    const uint32_t rings = word - internal_rings_.load(std::memory_order_relaxed);
    scheduler_->advance(now());
    scheduler_->step_spinning(guard, rings != rings_seen);
    rings_seen = rings;
    Time present = now();
    scheduler_->advance(present);
    report_stalls(present);
    flush_logs(guard, present);
    const Time wake = next_wake();
    sleep_until_ = wake;
    leave(guard);  // lets go whoever has been waiting for what has just happened
    if (wake > now()) doorbell_.sleep(word, wake);
    guard.lock();
    sleep_until_ = Time::min();
  }
}

Time Engine::next_wake() const {
  Time wake = std::min(scheduler_->next_event(), flush_at_);
  for (const Stall* stall : stalls_) {
    if (!stall->reported) wake = std::min(wake, stall->since + long_stall);
  }
  return wake;
}

// Ends every locked section that may have changed something.
void Engine::leave(Guard& guard) {
  for (Waiter* waiter : waiters_) {
    if (waiter->ready || !(*waiter->condition)()) continue;
    waiter->ready = true;
    waiter->wake.notify_one();
  }
  if (flush_at_ == Time::max()) {
    for (const auto& device : devices_) {
      if (device->model->log.has_pending()) flush_at_ = now() + flush_period;
    }
  }
  const bool wake = next_wake() < sleep_until_;
  if (wake) {
    sleep_until_ = Time::min();
    internal_rings_.fetch_add(1, std::memory_order_relaxed);
  }
  guard.unlock();
  if (wake) doorbell_.ring();
}

void Engine::ring() {
  doorbell_.ring();
}

int Engine::doorbell_fd() const {
  return doorbell_.fd();
}

Time Engine::clock() {
  const std::scoped_lock guard(lock_);
  return scheduler_->clock();
}

void Engine::stop() {
  Guard guard(lock_);
  stopping_ = true;
  scheduler_->stop_workers();
  flush_at_ = Time::min();
  flush_logs(guard, now());
  guard.unlock();
  doorbell_.ring();
}

void Engine::log(Device& device, const std::string& json_object) {
  Guard guard(lock_);
  device.model->log.add(json_object);
  leave(guard);
}

void Engine::flush_logs(Guard& guard, Time present) {
  if (present < flush_at_) return;
  flush_at_ = Time::max();
  for (const auto& device : devices_) {
    TruthLog& log = device->model->log;
    if (!log.has_pending()) continue;
    const std::string lines = log.take();
    guard.unlock();
    log.write(lines);
    guard.lock();
  }
}

// --- work
// -------------------------------------------------------------------------------------------------------------

bool Engine::is_full(const Stream& stream) const {
  return settings_.queue.depth != 0 && stream.queue->entries >= settings_.queue.depth;
}

// The call stands until an entry of the hardware queue is free. It holds nothing meanwhile: others go on.
CUresult Engine::wait_for_entry(Guard& guard, const Stream& stream) {
  if (!is_full(stream)) return CUDA_SUCCESS;
  Context& context = *stream.context;
  const HardwareQueue& queue = *stream.queue;
  const auto is_over = [&] {
    return queue.entries < settings_.queue.depth || context.is_ending || context.error.load() != CUDA_SUCCESS;
  };
  ++context.standing_calls;
  do {
    wait_locked(guard, is_over);
  } while (!is_over());  // another thread was faster
  --context.standing_calls;
  if (context.is_ending) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return slab<Stream>.find(&stream) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult Engine::wait_for_entries(Guard& guard, const Context& context) {
  for (;;) {
    const auto full = std::find_if(context.streams.begin(), context.streams.end(),
                                   [this](const Stream* stream) { return is_full(*stream); });
    if (full == context.streams.end()) return CUDA_SUCCESS;
    const CUresult result = wait_for_entry(guard, **full);
    if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED || context.error.load() != CUDA_SUCCESS) return result;
  }
}

CUresult Engine::submit(Stream& stream, Command&& command) {
  Guard guard(lock_);
  if (stream.capture == nullptr) {
    const Device& device = *stream.context->device;
    if (is_launch(command) && device.holding_calls != 0) wait_locked(guard, [&] { return device.holding_calls == 0; });
    if (const CUresult gone = wait_for_entry(guard, stream); gone != CUDA_SUCCESS) return leave(guard), gone;
  }
  const auto* wait = std::get_if<WaitCommand>(&command);
  if (stream.capture != nullptr || (wait != nullptr && wait->event->captured != nullptr)) {
    return capture_command(stream, std::move(command));
  }
  if (stream.kind == StreamKind::legacy) {
    if (const CUresult error = capture_forbids_legacy(stream); error != CUDA_SUCCESS) return error;
  }
  if (settings_.queue.launch_waits_for_host && is_launch(command)) {
    const Context& context = *stream.context;
    wait_locked(guard, [&] {
      return context.waiting_threads == 0 && (context.green_of == nullptr || context.green_of->waiting_threads == 0);
    });
  }
  if (const CUresult error = stream.context->error.load(std::memory_order_relaxed); error != CUDA_SUCCESS) return error;
  if (auto* record = std::get_if<RecordCommand>(&command)) record->event->captured.reset();
  const Time arrival = arrivals_.now();
  if (const auto* batch = std::get_if<MemoryBatch>(&command)) {
    for (const MemoryOperation& operation : *batch->operations) scheduler_->append(stream, operation, arrival);
  } else {
    scheduler_->append(stream, std::move(command), arrival);
  }
  Scheduler::take_entry(stream);
  if (scheduler_->next_event() < sleep_until_) {
    leave(guard);
  }
  return CUDA_SUCCESS;
}

CUresult Engine::record(Context& context, Event& event) {
  Guard guard(lock_);
  if (const CUresult gone = wait_for_entries(guard, context); gone != CUDA_SUCCESS) return leave(guard), gone;
  if (const CUresult error = capture_forbids_context(context); error != CUDA_SUCCESS) return error;
  if (const CUresult error = context.error.load(std::memory_order_relaxed); error != CUDA_SUCCESS) return error;
  event.captured.reset();
  RecordCommand command;
  command.event = &event;
  const Time arrival = arrivals_.now();
  scheduler_->advance(now());
  for (Stream* stream : context.streams) {
    if (stream->idle()) continue;
    scheduler_->append(*stream, command, arrival);
    Scheduler::take_entry(*stream);
    command.joins = true;
  }
  if (!command.joins) {
    scheduler_->append(*context.legacy, command, arrival);
    Scheduler::take_entry(*context.legacy);
  }
  leave(guard);
  return CUDA_SUCCESS;
}

CUresult Engine::make_wait(Context& context, Event& event) {
  Guard guard(lock_);
  if (const CUresult gone = wait_for_entries(guard, context); gone != CUDA_SUCCESS) return leave(guard), gone;
  if (const CUresult error = capture_forbids_context(context); error != CUDA_SUCCESS) return error;
  if (event.captured != nullptr) return capture_forbids_event(event);
  if (const CUresult error = context.error.load(std::memory_order_relaxed); error != CUDA_SUCCESS) return error;
  const Time arrival = arrivals_.now();
  for (Stream* stream : context.streams) {
    scheduler_->append(*stream, WaitCommand{&event, 0, nullptr}, arrival);
    Scheduler::take_entry(*stream);
  }
  if (event.last != nullptr && !event.last->done) {
    ++event.last->references;
    context.waits.push_back(event.last);
  }
  leave(guard);
  return CUDA_SUCCESS;
}

// --- waiting
// ----------------------------------------------------------------------------------------------------------

void Engine::wait_locked(Guard& guard, const std::function<bool()>& condition) {
  scheduler_->advance(now());
  if (condition()) return;
  Waiter waiter;
  waiter.condition = &condition;
  waiters_.push_back(&waiter);
  leave(guard);
  guard.lock();
  waiter.wake.wait(guard, [&] { return waiter.ready; });
  std::erase(waiters_, &waiter);
}

void Engine::wait(const std::function<bool()>& condition) {
  Guard guard(lock_);
  wait_locked(guard, condition);
  leave(guard);
}

// The commands up to that number are done.
bool Engine::drained(const Context& context, uint64_t limit) const {
  const auto pending = [&](const Stream* stream) { return stream->head != nullptr && stream->head->number <= limit; };
  return std::none_of(context.streams.begin(), context.streams.end(), pending);
}

// A host that waits for a primary context waits for its green contexts, too.
bool Engine::drained_with_green(const Context& context, uint64_t limit) const {
  const auto& contexts = context.device->contexts;
  return std::all_of(contexts.begin(), contexts.end(), [&](const Context* other) {
    return (other != &context && other->green_of != &context) || drained(*other, limit);
  });
}

// The legacy stream stands behind all blocking streams, so a host that waits for it waits for them too.
bool Engine::drained(const Stream& stream, uint64_t limit) const {
  const auto done = [limit](const Stream& one) { return one.head == nullptr || one.head->number > limit; };
  if (stream.kind != StreamKind::legacy) return done(stream);
  const auto& streams = stream.context->streams;
  return std::all_of(streams.begin(), streams.end(),
                     [&](const Stream* other) { return (!other->blocking() && other != &stream) || done(*other); });
}

CUresult Engine::synchronize(Stream& stream) {
  Guard guard(lock_);
  Context& context = *stream.context;
  const uint64_t limit = scheduler_->last_number();
  wait_locked(guard, [&] { return drained(stream, limit); });
  leave(guard);
  return context.error.load();
}

CUresult Engine::synchronize(Context& context) {
  Guard guard(lock_);
  if (const CUresult error = capture_forbids_synchronize(context); error != CUDA_SUCCESS) return error;
  ++context.waiting_threads;
  const bool for_later = settings_.queue.host_waits_for_later;
  const uint64_t limit = for_later ? std::numeric_limits<uint64_t>::max() : scheduler_->last_number();
  wait_locked(guard, [&] { return drained_with_green(context, limit); });
  --context.waiting_threads;
  leave(guard);
  return context.error.load();
}

CUresult Engine::query(Stream& stream) {
  Guard guard(lock_);
  const uint64_t limit = scheduler_->last_number();
  if (!drained(stream, limit)) scheduler_->advance(now());
  const bool idle = drained(stream, limit);
  const CUresult error = stream.context->error.load();
  leave(guard);
  if (error != CUDA_SUCCESS) return error;
  return idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult Engine::query(Event& event) {
  Guard guard(lock_);
  if (event.last != nullptr && !event.last->done) scheduler_->advance(now());
  const bool done = event.last == nullptr || event.last->done;
  const CUresult error = event.context->error.load();
  leave(guard);
  if (error != CUDA_SUCCESS) return error;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult Engine::synchronize(Event& event) {
  Guard guard(lock_);
  Context& context = *event.context;
  if (EventRecord* record = event.last; record != nullptr) {
    ++record->references;
    wait_locked(guard, [record] { return record->done; });
    scheduler_->release(record);
  }
  leave(guard);
  return context.error.load();
}

CUresult Engine::elapsed(Event& from, Event& to, float& milliseconds) {
  Guard guard(lock_);
  scheduler_->advance(now());
  CUresult result = CUDA_SUCCESS;
  if (from.context->error.load() != CUDA_SUCCESS) {
    result = from.context->error.load();
  } else if (from.last == nullptr || to.last == nullptr) {
    result = CUDA_ERROR_INVALID_HANDLE;
  } else if (!from.last->done || !to.last->done) {
    result = CUDA_ERROR_NOT_READY;
  } else {
    milliseconds = std::chrono::duration<float, std::milli>(to.last->at - from.last->at).count();
  }
  leave(guard);
  return result;
}

// --- the strict adversary
// ---------------------------------------------------------------------------------------------

void Engine::wait_for_idle_device(Device& device, const char* call, Drain drain, Held held) {
  Guard guard(lock_);
  scheduler_->advance(now());
  const Time begin = now();
  const uint64_t limit = scheduler_->last_number();
  const auto idle = [&] {
    if (drain == Drain::spinning_kernels) return device.model->spinning == 0;
    return std::all_of(device.contexts.begin(), device.contexts.end(),
                       [&](const Context* context) { return drained(*context, limit); });
  };
  const auto spinning =
      std::find_if(device.model->kernels.begin(), device.model->kernels.end(),
                   [](const RunningKernel* kernel) { return kernel->spins && kernel->started != Time::max(); });
  const bool hazard = spinning != device.model->kernels.end();
  const std::string behind(hazard ? (*spinning)->name : "");
  const bool passes = settings_.stall_as_measured && drain == Drain::spinning_kernels && held == Held::own_thread;
  if (!passes && !idle() && (settings_.stall_on_hazard || !hazard)) {
    Stall stall{call, &device, hazard ? current_thread(begin) : 0, begin, !hazard};
    stalls_.push_back(&stall);
    device.holding_calls += held == Held::all_launches ? 1 : 0;
    wait_locked(guard, idle);
    device.holding_calls -= held == Held::all_launches ? 1 : 0;
    std::erase(stalls_, &stall);
  }
  if (hazard && !passes && device.model->log.enabled()) {
    Record record("hazard");
    record.add("what", call).add("thread", thread_name(current_thread(begin))).add("behind", behind);
    record.add("time", begin).add("stall_ns", now() - begin);
    device.model->log.add(record.text());
  }
  leave(guard);
}

void Engine::report_stalls(Time present) {
  for (Stall* stall : stalls_) {
    if (stall->reported || present - stall->since < long_stall) continue;
    stall->reported = true;
    const auto& kernels = stall->device->model->kernels;
    const auto spinning =
        std::find_if(kernels.begin(), kernels.end(), [](const RunningKernel* kernel) { return kernel->spins; });
    const std::string behind(spinning == kernels.end() ? "other work" : std::string((*spinning)->name));
    const std::string thread = thread_name(stall->thread);
    std::fprintf(stderr, "simgpu: thread %s has been stalled for 1 s in %s behind %s\n", thread.c_str(), stall->call,
                 behind.c_str());
    Record record("stalled");
    record.add("what", stall->call).add("thread", thread).add("behind", behind).add("time", stall->since);
    stall->device->model->log.add(record.text());
  }
}

bool Engine::allocation_fault() {
  const std::scoped_lock guard(lock_);
  return ++allocations_ == settings_.faults.failing_allocation;
}

void Engine::note_memory(Device& device) {
  if (!device.model->log.enabled()) return;
  Record record("memory");
  record.add("time", now()).add("allocated", uint64_t{device.memory.total() - device.memory.free()});
  log(device, record.text());
}

void Engine::poison(Context& context, CUresult error) {
  Guard guard(lock_);
  scheduler_->poison(*context.device, error);
  leave(guard);
}

}  // namespace simgpu
