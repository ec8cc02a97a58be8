// See rank.h.
#include "runner/model/rank.h"

#include <algorithm>

namespace weft::model {

void Gaps::add(const Gaps& other) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].idle += other.classes[i].idle;
    classes[i].filled += other.classes[i].filled;
    classes[i].count += other.classes[i].count;
  }
}

void Gaps::add(Duration gap, Duration filled) {
  std::size_t index = 0;
  while (index < bounds.size() && gap >= bounds[index]) ++index;
  classes[index].idle += gap;
  classes[index].filled += filled;
  ++classes[index].count;
}

// Those that the dispatcher finds, not the hooks.
bool Rank::is_word(const Event& event) {
  switch (event.kind) {
    case EventKind::group_started:
    case EventKind::group_done:
    case EventKind::wait_reached:
    case EventKind::wait_passed:
      return true;
    default:
      return false;
  }
}

void Rank::wake_at(TimePoint time) {
  if (time >= wakes_) return;
  wakes_ = time;
  world_.wake(number_, time);
}

// One that does not sleep there takes one look after the other.
bool Rank::sleeps_at(TimePoint time) const {
  return policy_->next_look(time, executor_.in_flight()) > time;
}

// The thread goes on sleeping and looking until then; it finds the event at the next look.
void Rank::saw(const Event& event) {
  if (policy_ == nullptr) return;
  events_.push_back(event);
  const TimePoint now = world_.now(number_);
  if (events_.size() > 1) return;
  TimePoint time = last_look_;
  while (time <= now) {
    last_look_ = time;
    const TimePoint wanted = policy_->next_look(time, executor_.in_flight());
    time = wanted > time ? wanted + times_.wake_up : time + times_.look;
  }
  wake_at(time);
}

SliceGpu Rank::gpu_of(pipeline::World& world, int number) {
  if (world.sharing().kind == pipeline::Sharing::Kind::alone)
    return {.take = [&world, number](TimePoint begins, TimePoint ends) { world.take_gpu(number, begins, ends); }};
  return {.share = [&world, number](TimePoint from, Duration alone) { world.share_gpu(number, from, alone); }};
}

void Rank::follow(std::unique_ptr<Policy> policy, std::span<const TimePoint> arrivals) {
  policy_ = std::move(policy);
  if (policy_ == nullptr) return;
  for (const TimePoint arrival : arrivals)
    if (arrival > TimePoint{}) world_.wake(number_, arrival);
}

void Rank::woken(TimePoint now) {
  if (executor_.arrive(now)) wake_at(std::max(now, last_look_) + times_.wake_up);
  if (now != wakes_) return;  // it was woken earlier, or a job has arrived
  wakes_ = TimePoint::max();
  look(now);
}

void Rank::look(TimePoint begin) {
  ++looks_;
  const TimePoint now = begin + times_.look;
  const TimePoint middle = last_look_ + (now - last_look_) / 2;
  for (Event& event : events_)
    if (is_word(event)) event.time = std::max(event.time, middle);
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  executor_.reap(begin, finished_);
  executor_.change_variants(begin);
  record_variants();
  policy_->looks_within(now - middle);
  policy_->look(now, events_, finished_, executor_.view());
  events_.clear();
  finished_.clear();
  TimePoint time = now;
  while (launch_one(time)) time += times_.launch;
  last_look_ = time;
  std::optional<TimePoint> next = policy_->next_decision();
  if (!next && executor_.in_flight() != 0) next = executor_.view().in_flight.first_ends;
  if (!next || *next == Executor::unknown) return;
  const TimePoint wanted = std::max(*next, time);
  wake_at(wanted + (sleeps_at(wanted) ? times_.wake_up : times_.look));
}

// Names and terms of the jobs are known to whoever keeps the trace.
void Rank::record_variants() {
  for (const VariantEvent& told : executor_.take_variants()) {
    JobRecord record;
    record.job = told.job;
    record.event = told.event;
    record.variant = told.variant;
    record.why = told.why;
    record.memory = told.memory;
    records_.push(Record(0, told.time, record));
  }
}

bool Rank::launch_one(TimePoint time) {
  executor_.watch_room([&](const Candidates& next) { return policy_->room_for(time, next); });
  const std::size_t offers = executor_.make_offers();
  for (std::size_t offer = 0; offer < offers; ++offer) {
    ++decisions_;
    const Decision decision = policy_->decide(time, executor_.offer(offer));
    if (decision.waits) return false;
    if (!decision.launch) continue;
    executor_.launch(time, decision.bubble, executor_.choice(offer, decision.candidate));
    policy_->launched(times_.launch);
    return true;
  }
  return false;
}

void Rank::computed(const pipeline::Span& span, bool counts) {
  const Duration filled = executor_.within(last_piece_, span.reached) + span.filled_before;
  if (counts) beside_ += span.filled_beside;
  if (span.reached > last_piece_ && last_piece_ != TimePoint{}) {
    if (policy_ != nullptr && !policy_->is_dark()) records_.agreement.add_true(last_piece_, span.reached);
    Gaps& gaps = policy_ != nullptr && policy_->leaves_out() ? left_out_ : gaps_;
    if (counts) gaps.add(span.reached - last_piece_, filled);
  }
  last_piece_ = span.ended;
}

void Rank::shared(TimePoint now) {
  executor_.shared_ended(now);
  wake_at(std::max(now, last_look_) + times_.wake_up);
}

}  // namespace weft::model
