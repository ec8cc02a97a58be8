// The detector's part that opens and closes bubbles, and reports the time of which nobody knows. Called by detector.cpp
// after each event; the verdict of the streams decides, this says when and what is reported.
#include <algorithm>
#include <chrono>

#include "detector/dcheck.h"
#include "detector/implementation.h"

namespace weft {
namespace {

constexpr const char* between_two_looks = "something was launched, and was over before the next look";
constexpr Duration least_host_wait = std::chrono::milliseconds(2);

}  // namespace

void Detector::Implementation::update_bubble() {
  if (is_dark()) return;
  const Verdict verdict = streams_.verdict();
  const bool idle = verdict.kind == Verdict::Kind::idle;
  if (open_ && is_over(*open_, verdict)) close();
  // Words of one look come one by one: what ends and goes on at one time has not ended.
  if (open_ && !idle && !interrupted_) interrupted_ = now_;
  if (open_ && idle) interrupted_.reset();
  if (!open_ && idle) open(verdict.idleness);
  look_at_uncertainty(verdict);
}

// The group that it was opened for is over: what is still waited for is another bubble. Or somebody waits by now.
bool Detector::Implementation::is_over(const Bubble& bubble, const Verdict& now) const {
  const bool is_idle = now.kind == Verdict::Kind::idle;
  if (bubble.pattern == Pattern::said) return is_idle && now.idleness.pattern != Pattern::said;
  if (!groups_.pending(bubble.group)) return true;
  return is_idle && bubble.pattern == Pattern::posted_early && now.idleness.pattern != Pattern::posted_early;
}

void Detector::Implementation::look_at_uncertainty(const Verdict& verdict) {
  const bool uncertain = verdict.kind == Verdict::Kind::uncertain;
  if (uncertain == uncertain_since_.has_value() && (!uncertain || verdict.why == uncertain_why_)) return;
  const std::optional<TimePoint> since = std::exchange(uncertain_since_, std::nullopt);
  const char* why = std::exchange(uncertain_why_, verdict.why);
  if (uncertain) uncertain_since_ = now_;
  if (!since || now_ == *since) return;
  if (why != host_wait_outside_cuda) return report_uncertainty({*since, now_, why});
  if (now_ - *since >= least_host_wait) host_waits_.push({*since, now_, why});
}

void Detector::Implementation::report_uncertainty(const UncertainTime& uncertain) {
  iterations_.uncertain_time(uncertain.ended - uncertain.began);
  report(FindingKind::uncertain_time);
  findings_.back().uncertain = uncertain;
}

// Before another group comes nobody knows whether it is still training.
void Detector::Implementation::report_host_waits() {
  for (; !host_waits_.empty(); host_waits_.pop()) report_uncertainty(host_waits_.front());
}

// Something was launched and was over since the look before. A bubble that is announced has to have some length.
void Detector::Implementation::leave_out_look() {
  const TimePoint since = std::max(before_look_, open_->opened);
  if (interrupted_ || since >= now_ || (announced_ && since == open_->opened)) return;
  if (since > open_->opened) announce();
  interrupted_ = since;
  close();
  report_uncertainty({since, now_, between_two_looks});
}

void Detector::Implementation::open(const Idleness& idleness) {
  WEFT_DCHECK(!open_);
  const Group* group = groups_.find(idleness.group);
  Bubble bubble;
  bubble.id = bubbles_ + 1;  // of one that is not announced the next one takes the number
  bubble.opened = now_;
  bubble.group = idleness.group;
  bubble.stream = idleness.stream;
  bubble.pattern = idleness.pattern;
  if (bubble.pattern == Pattern::said) {
    said_bubbles_.open(bubble);
    bubble.said = sayings_.present();
  } else if (group != nullptr) {
    bubble.slot = group->slot;
    bubble.said = group->said;
    bubble.cause = group->cause;
    bubble.iteration = group->iteration;
    bubble.rhythm = group->rhythm;
    bubble.turn = group->turn;
    expect(bubble, *group);
  }
  open_ = bubble;
  announced_ = false;
}

// Where nobody waits for the group, the bubble ends when the host launches something: no earlier one says when.
void Detector::Implementation::expect(Bubble& bubble, const Group& group) {
  if (bubble.pattern == Pattern::posted_early) {
    bubble.cause = Cause::host;
    return;
  }
  bubble.forecast = slots_.forecast(group.table, group.slot.ordinal, group.bubbles);
  iterations_.bubble_opened(place_of(group), now_);
}

// An opening or an end is announced as soon as time has passed: words of one poll may come in another order than they
// were written, and what opens and closes in one poll is no bubble.
void Detector::Implementation::announce() {
  if (open_ && interrupted_ && now_ != *interrupted_) close();
  if (!open_ || announced_ || now_ == open_->opened) return;
  announced_ = true;
  if (open_->pattern == Pattern::said) said_bubbles_.opened();
  ++bubbles_;
  report(FindingKind::bubble_opened);
  findings_.back().time = open_->opened;
  findings_.back().bubble = *open_;
}

void Detector::Implementation::close(Closing how) {
  Bubble bubble = *open_;
  const bool announced = announced_;
  bubble.closed = interrupted_.value_or(now_);
  open_.reset();
  interrupted_.reset();
  if (!announced) return;
  WEFT_DCHECK(bubble.closed > bubble.opened);  // an opening is announced by an event of a later time
  const Duration length = bubble.closed - bubble.opened;
  report(FindingKind::bubble_closed);
  findings_.back().time = bubble.closed;
  findings_.back().bubble = bubble;
  iterations_.bubble_closed(length);
  if (how == Closing::cut_off) return;
  if (bubble.pattern == Pattern::said) return said_bubbles_.closed(bubble);
  Group* const group = groups_.find(bubble.group);
  if (group == nullptr || bubble.cause == Cause::host) return;
  if (bubble.forecast) slots_.compare(group->table, *bubble.forecast, length);
  const std::uint32_t piece = group->bubbles++;
  slots_.add(group->table, group->slot.ordinal, length, piece);
  remembered_.push({group->position, length, group->table, piece});
}

}  // namespace weft
