// See recorded_session.h.
#include "runner/recording/recorded_session.h"

#include "runner/recording/fields.h"
#include "runner/recording/record_hash.h"

namespace weft {

template <class... Values>
void RecordedSession::put(Calls* calls, Call call, const Values&... values) noexcept {
  if (calls == nullptr) return;
  Put entry(calls->state, call);
  (visit(entry, values), ...);
  calls->sink.push(entry.bytes());
}

void RecordedSession::Tap::push(const Record& record) noexcept {
  if (calls_ != nullptr) {
    const RecordHash hash = hash_of(record);
    Put entry(calls_->state, Call::record);
    visit(entry, hash);
    calls_->sink.push(entry.bytes());
  }
  next_.push(record);
}

RecordedSession::RecordedSession(const SessionOptions& options, RecordSink& records, CallSink* calls)
    : records_(records),
      calls_(calls == nullptr ? nullptr : std::make_unique<Calls>(Calls{*calls})),
      tap_(records, calls_.get()),
      session_(options, tap_) {
  put(calls_.get(), Call::options, options);
}

void RecordedSession::observe(const Event& event) {
  put(calls_.get(), Call::observe, event);
  session_.observe(event);
}

void RecordedSession::looks_within(Duration uncertainty) {
  put(calls_.get(), Call::looks_within, uncertainty);
  session_.looks_within(uncertainty);
}

void RecordedSession::looked(TimePoint time) {
  put(calls_.get(), Call::looked, time);
  session_.looked(time);
}

void RecordedSession::interrupted(TimePoint now) {
  put(calls_.get(), Call::interrupted, now);
  session_.interrupted(now);
}

void RecordedSession::finished(const SliceRecord& slice) {
  put(calls_.get(), Call::finished, slice);
  session_.finished(slice);
}

void RecordedSession::moved(const MoveRecord& move) {
  put(calls_.get(), Call::moved, move);
  session_.moved(move);
}

void RecordedSession::look(TimePoint now, const FillView& view) {
  put(calls_.get(), Call::look, now, view);
  session_.look(now, view);
}

Decision RecordedSession::decide(TimePoint now, const FillView& view) {
  put(calls_.get(), Call::decide, now, view);
  const Decision decision = session_.decide(now, view);
  put(calls_.get(), Call::decision, decision);
  return decision;
}

void RecordedSession::launched(Duration took) {
  put(calls_.get(), Call::launched, took);
  session_.launched(took);
}

void RecordedSession::launched_beside_work(TimePoint now, Duration alone) {
  put(calls_.get(), Call::launched_beside_work, now, alone);
  session_.launched_beside_work(now, alone);
}

TimePoint RecordedSession::next_look(TimePoint now, const Pending& pending) const {
  put(calls_.get(), Call::next_look, now, pending);
  const TimePoint next = session_.next_look(now, pending);
  put(calls_.get(), Call::next, next);
  return next;
}

// Here and below, a text is what a record holds of it, so that a replay has the same.
void RecordedSession::job_ended(TimePoint now, std::uint32_t job, bool failed, std::string_view why, bool others) {
  put(calls_.get(), Call::job_ended, now, job, failed, RecordText(why), others);
  session_.job_ended(now, job, failed, why, others);
}

void RecordedSession::end_filling(TimePoint now, std::string_view reason, Audience audience) {
  put(calls_.get(), Call::end_filling, now, RecordText(reason), audience);
  session_.end_filling(now, reason, audience);
}

void RecordedSession::begin_filling(TimePoint now, const JobRecord& job) {
  put(calls_.get(), Call::begin_filling, now, job);
  session_.begin_filling(now, job);
}

void RecordedSession::no_filling(TimePoint now, std::string_view reason) {
  put(calls_.get(), Call::no_filling, now, RecordText(reason));
  session_.no_filling(now, reason);
}

void RecordedSession::note(TimePoint now, std::string_view text) {
  put(calls_.get(), Call::note, now, RecordText(text));
  session_.note(now, text);
}

void RecordedSession::trouble(TimePoint now, std::string_view text, Audience where_nothing_is_filled) {
  put(calls_.get(), Call::trouble, now, RecordText(text), where_nothing_is_filled);
  session_.trouble(now, text, where_nothing_is_filled);
}

void RecordedSession::note_work_under_way(TimePoint now) {
  put(calls_.get(), Call::note_work_under_way, now);
  session_.note_work_under_way(now);
}

void RecordedSession::end(TimePoint now) {
  put(calls_.get(), Call::end, now);
  session_.end(now);
}

void RecordedSession::pass(const Record& record) {
  put(calls_.get(), Call::pass, record);
  records_.push(record);
}

}  // namespace weft
