// The thread of a device. See the header for who may call what.
#include "runner/core/dispatcher.h"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "runner/clock.h"
#include "runner/fill/queues.h"
#include "runner/log.h"

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration sleep_when_quiet = milliseconds(1);
constexpr Duration sleep_when_waiting = microseconds(250);
// So long before an expected bubble the words are read at WEFT_POLL, and so long after it without a bubble no longer.
constexpr Duration near_before = microseconds(500);
constexpr Duration near_after = milliseconds(50);
constexpr Duration shortest_sleep = microseconds(5);
constexpr Duration longest_drain = milliseconds(500);

std::string budget_not_kept(const SlowdownRecord& slowdown) {
  char text[sizeof AnomalyRecord::text];
  std::snprintf(text, sizeof text,
                "the slowdown budget of %.3g %% cannot be kept: %+.2f %% (95 %% interval %+.2f to %+.2f %%)",
                100 * slowdown.budget, 100 * slowdown.estimate, 100 * slowdown.low, 100 * slowdown.high);
  return text;
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherParts& parts, DispatcherOptions options)
    : parts_(parts),
      options_(std::move(options)),
      board_(parts.words),
      drains_(*parts.shim, parts.device),
      budget_(options_.slowdown_budget),
      filling_(parts.filler != nullptr) {
  events_dropped_ = parts_.shim->dropped_events();
  lost_before_ = events_dropped_ + parts_.router->lost();
}

bool Dispatcher::start() {
  // A signal for the main job must never land on this thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int result = pthread_create(&thread, &attributes, &Dispatcher::thread_main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  started_.store(result == 0);
  return result == 0;
}

void* Dispatcher::thread_main(void* self) {
  auto& dispatcher = *static_cast<Dispatcher*>(self);
  try {
    dispatcher.prepare_thread();
    dispatcher.run();
  } catch (...) {
    // Only memory can run out here. The core gives back what is reserved, the hooks go quiet, and the main job goes on.
    log_parts(LogLevel::error, {dispatcher.options_.label, ": the dispatcher failed, Weft is off in this process"});
    dispatcher.parts_.shim->turn_off("the dispatcher failed");
    const Filler* const filler = dispatcher.parts_.filler;
    dispatcher.drained_.store(filler == nullptr || filler->in_flight().slices == 0, std::memory_order_release);
  }
  dispatcher.ended_.store(true, std::memory_order_release);
  return nullptr;
}

void Dispatcher::prepare_thread() {
  pthread_setname_np(pthread_self(), "weft-dispatch");
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Makes the thread's place for exceptions now: where there is no memory for it later, the loader ends the process.
  [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
  if (parts_.shim->mark_own_thread != nullptr) parts_.shim->mark_own_thread();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  parts_.driver->cuThreadExchangeStreamCaptureMode(&mode);
  parts_.driver->cuCtxSetCurrent(parts_.context);
  last_look_ = now();
}

void Dispatcher::run() {
  for (;;) {
    step();
    const TimePoint time = now();
    if (finished(time)) return;
    sleep_until(next_look(time));
  }
}

void Dispatcher::step() {
  const std::uint64_t pause_wanted = pause_wanted_.load(std::memory_order_acquire);
  const TimePoint time = now();
  gather(time);
  for (const Event& event : events_) take(event);
  events_.clear();
  push_inbox();
  if (parts_.filler != nullptr) fill(time);
  answer(pause_wanted);
  last_look_ = time;
}

// What the hooks noted and what the words say since the last look, in the order of their times.
void Dispatcher::gather(TimePoint time) {
  parts_.router->drain(parts_.device, events_);
  for (const Event& event : events_) {
    board_.note(event);
    drains_.note(event);
  }
  // Streams are asked before the words are read: what a dry stream wrote comes before the news that it is dry.
  if (!context_closing_.load(std::memory_order_acquire)) drains_.look(last_look_, time, answers_);
  board_.look(last_look_, time, events_);
  events_.insert(events_.end(), answers_.begin(), answers_.end());
  answers_.clear();
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  look_at_limits();
  const std::uint64_t dropped = parts_.shim->dropped_events();
  if (dropped == events_dropped_) return;
  events_dropped_ = dropped;
  end_filling("events of the main job were lost, its state is not known", false);
}

// How many streams the main job uses shows only while it runs.
void Dispatcher::look_at_limits() {
  if (const char* what = parts_.shim->full_table(); what != nullptr && !table_was_full_) {
    table_was_full_ = true;
    const std::string text = std::string("more ") + what + " than Weft has room for: the rest is not seen";
    if (filling_) return end_filling(text, !options_.speaks_for_all);
    push(anomaly(now(), text, false));
    if (options_.speaks_for_all) log_parts(LogLevel::warn, {options_.label, ": ", text});
  }
  if (!filling_) return;
  const std::string crowd = too_many_streams(parts_.shim->streams_in_use(parts_.device), options_.queues);
  if (!crowd.empty()) end_filling(crowd, !options_.speaks_for_all);
}

void Dispatcher::take(const Event& event) {
  if (event.kind == EventKind::capture_begun) ++captures_open_;
  if (event.kind == EventKind::capture_ended) captures_open_ = std::max(0, captures_open_ - 1);
  accounts_.note(event);
  detector_.observe(event);
  for (const Finding& finding : detector_.take_findings()) take(finding);
}

void Dispatcher::take(const Finding& finding) {
  accounts_.note(finding);
  if (finding.kind == FindingKind::bubble_closed) {
    push(Record(parts_.device, finding.time, finding.bubble));
    if (parts_.filler != nullptr && finding.bubble.id != last_filled_) accounts_.note(why_unfilled(finding.bubble));
    if (!finding.bubble.forecast) return;
    const Forecast& forecast = *finding.bubble.forecast;
    const ForecastRecord record{finding.bubble.id, finding.bubble.slot.ordinal,
                                forecast.low,      forecast.median,
                                forecast.high,     finding.bubble.closed - finding.bubble.opened};
    push(Record(parts_.device, finding.time, record));
  } else if (finding.kind == FindingKind::iteration_ended) {
    push(Record(parts_.device, finding.time, finding.iteration));
    take_iteration(finding.iteration);
  } else if (finding.kind == FindingKind::anomaly) {
    const char* text = finding.text == nullptr ? "an unknown state" : finding.text;
    if (filling_)
      end_filling(text, false);
    else
      push(anomaly(finding.time, text, false));
  }
}

void Dispatcher::fill(TimePoint time) {
  again_.reset();
  if (context_closing_.load(std::memory_order_acquire)) return;
  parts_.filler->reap(time, detector_.open_bubble().has_value(), slices_);
  for (const SliceRecord& slice : slices_) {
    accounts_.note(slice);
    push(Record(parts_.device, slice.finished, slice));
  }
  slices_.clear();
  if (launching_is_wanted()) launch_what_fits();
  if (filling_ && !parts_.filler->failure().empty())
    end_filling(parts_.filler->failure(), parts_.filler->context_gone());
}

void Dispatcher::launch_what_fits() {
  const std::optional<Bubble> bubble = detector_.open_bubble();
  if (!bubble || !budget_.may_fill(*bubble)) return;
  while (parts_.filler->ready()) {
    const TimePoint time = now();
    const Decision decision =
        plan(options_.planner, time, bubble, parts_.filler->in_flight(), parts_.filler->next_slice());
    again_ = decision.again;
    if (!decision.launch || context_closing_.load(std::memory_order_acquire)) return;
    parts_.filler->launch(time, bubble->id);
    last_filled_ = bubble->id;
    budget_.launched(bubble->iteration);
  }
}

// What is known of a closed bubble without a slice. What would have kept it empty in any case comes first.
Unfilled Dispatcher::why_unfilled(const Bubble& bubble) const {
  if (!filling_) return Unfilled::other;
  if (!bubble.forecast) return Unfilled::no_forecast;
  if (bubble.forecast->low < options_.planner.floor) return Unfilled::too_short;
  if (!plan(options_.planner, bubble.opened, bubble, {}, parts_.filler->next_slice()).launch) return Unfilled::no_room;
  return budget_.may_fill(bubble) ? Unfilled::other : Unfilled::held_back;
}

// Compares, and fills less when filling costs too much. A record at each change, and at the end of iterations without
// fill.
void Dispatcher::take_iteration(const Iteration& iteration) {
  last_iteration_ = iteration.number;
  if (parts_.filler == nullptr || options_.slowdown_budget == Budget::unlimited || !filling_) return;
  const Budget::Change change = budget_.ended(iteration);
  const bool control_over = is_control(iteration.turn) && !is_control(iteration.turn + 1);
  if (change == Budget::Change::none && !control_over) return;
  const SlowdownRecord record = slowdown_record(budget_.present());
  push(Record(parts_.device, iteration.ended, record));
  // The end line is of the longest rhythm, so is the reason.
  if (change == Budget::Change::stop) end_filling(budget_not_kept(slowdown_record(budget_.longest())), false);
  if (change == Budget::Change::less && record.share == 0)
    push(anomaly(iteration.ended, budget_not_kept(record) + ": such iterations are not filled", false));
}

SlowdownRecord Dispatcher::slowdown_record(const Budget::State& state) const {
  SlowdownRecord record;
  record.budget = budget_.budget();
  record.share = state.share;
  record.iteration = last_iteration_;
  const std::optional<Slowdown>& slowdown = state.slowdown;
  if (!slowdown) return record;
  record.estimate = slowdown->estimate;
  record.low = slowdown->low;
  record.high = slowdown->high;
  record.control = slowdown->control;
  record.filled = slowdown->filled;
  return record;
}

void Dispatcher::end_filling(const std::string& reason, bool silently) {
  if (!filling_) return;
  filling_ = false;
  accounts_.filling_stopped(reason);
  push(anomaly(now(), reason, true));
  if (!silently) log_parts(LogLevel::warn, {options_.label, ": filling is off for the rest of this run: ", reason});
}

void Dispatcher::note_set_up_failure(const std::string& text) {
  accounts_.filling_stopped(text);
  push(anomaly(now(), text, true));
}

void Dispatcher::stop_filling(const std::string& reason) {
  filling_forbidden_.store(true, std::memory_order_release);
  const std::lock_guard lock(inbox_mutex_);
  stop_reason_ = reason;
  inbox_filled_.store(true, std::memory_order_release);
}

void Dispatcher::submit(const Record& record) {
  if (ended_.load(std::memory_order_acquire)) return push(record);
  const std::lock_guard lock(inbox_mutex_);
  inbox_.push_back(record);
  inbox_filled_.store(true, std::memory_order_release);
}

void Dispatcher::push_inbox() {
  if (!inbox_filled_.exchange(false, std::memory_order_acq_rel)) return;
  std::vector<Record> records;
  std::string reason;
  {
    const std::lock_guard lock(inbox_mutex_);
    records.swap(inbox_);
    reason.swap(stop_reason_);
  }
  for (const Record& record : records) push(record);
  if (!reason.empty()) end_filling(reason, false);
}

void Dispatcher::push(const Record& record) {
  if (parts_.trace != nullptr) parts_.trace->push(record);
}

Record Dispatcher::anomaly(TimePoint time, const std::string& text, bool stops_filling) const {
  AnomalyRecord record{};
  std::snprintf(record.text, sizeof record.text, "%s", text.c_str());
  record.stops_filling = stops_filling;
  return Record(parts_.device, time, record);
}

bool Dispatcher::launching_is_wanted() const {
  return filling_ && captures_open_ == 0 && !filling_forbidden_.load(std::memory_order_acquire) &&
         pause_wanted_.load(std::memory_order_acquire) == 0 && !stop_wanted_.load(std::memory_order_acquire);
}

// Tells a waiting thread of the main job where this one stands. `pause_wanted` is from before this step.
void Dispatcher::answer(std::uint64_t pause_wanted) {
  groups_pending_.store(board_.groups_pending(), std::memory_order_release);
  const bool idle = parts_.filler == nullptr || parts_.filler->in_flight().slices == 0;
  drained_.store(idle, std::memory_order_release);
  if (pause_wanted != 0 && idle) pause_granted_.store(pause_wanted, std::memory_order_release);
}

bool Dispatcher::finished(TimePoint time) {
  if (!stop_wanted_.load(std::memory_order_acquire)) return false;
  if (!stop_seen_) stop_seen_ = time;
  return context_closing_.load(std::memory_order_acquire) || drained_.load(std::memory_order_acquire) ||
         time - *stop_seen_ > longest_drain;
}

TimePoint Dispatcher::next_look(TimePoint time) const {
  const bool asked_for =
      pause_wanted_.load(std::memory_order_acquire) != 0 || stop_wanted_.load(std::memory_order_acquire);
  const bool busy =
      asked_for || detector_.open_bubble() || (parts_.filler != nullptr && parts_.filler->in_flight().slices != 0);
  const TimePoint poll = time + options_.poll;
  if (busy) return again_ ? std::clamp(*again_, time + shortest_sleep, poll) : poll;
  TimePoint next = time + (board_.outstanding() != 0 ? sleep_when_waiting : sleep_when_quiet);
  const std::optional<TimePoint> expected = detector_.next_expected_bubble();
  if (expected && time < *expected + near_after) next = std::min(next, std::max(poll, *expected - near_before));
  return next;
}

bool Dispatcher::pause(Duration limit) {
  if (!started_.load()) return true;
  const std::uint64_t number = ++pauses_;
  pause_wanted_.store(number, std::memory_order_release);
  const auto granted = [&] {
    return pause_granted_.load(std::memory_order_acquire) == number || ended_.load(std::memory_order_acquire);
  };
  if (wait_at_most(limit, granted) && drained()) return true;
  resume();
  return false;
}

void Dispatcher::resume() {
  pause_wanted_.store(0, std::memory_order_release);
}

bool Dispatcher::stop(Duration limit) {
  if (!started_.load()) return true;
  stop_wanted_.store(true, std::memory_order_release);
  if (!wait_at_most(limit, [&] { return ended_.load(std::memory_order_acquire); })) return false;
  push_inbox();  // what came after the thread's last step
  return true;
}

bool Dispatcher::stop_without_cuda(Duration limit) {
  context_closing_.store(true);
  return stop(limit);
}

TraceSummary Dispatcher::summary() const {
  const std::uint64_t from_trace = parts_.trace == nullptr ? 0 : parts_.trace->dropped();
  const std::uint64_t events = parts_.shim->dropped_events() + parts_.router->lost() - lost_before_;
  TraceSummary summary = accounts_.summary(from_trace + events + board_.given_up());
  summary.budgeted = parts_.filler != nullptr && options_.slowdown_budget != Budget::unlimited;
  if (summary.budgeted) summary.slowdown = slowdown_record(budget_.longest());
  return summary;
}

}  // namespace weft
