// The fields of everything that a Session is given, for Put and Take (bytes.h): one function per struct.
//
// A struct that has grown does not compile (members.h): its new member gets a line, and recording_version (format.h)
// rises.
// The fields of records that come out of a session stand elsewhere, see record_hash.h. Pure.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "detector/event.h"
#include "runner/policy/session.h"
#include "runner/recording/bytes.h"
#include "runner/recording/members.h"
#include "runner/recording/record_hash.h"
#include "trace/record.h"
#include "trace/record_fields.h"

namespace weft {

static_assert(sizeof(SessionOptions) == 160 && sizeof(FillView) == 320 && sizeof(Pending) == 12);
static_assert(sizeof(Decision) == 40 && sizeof(SliceRecord) == 64 && sizeof(JobTerms) == 32);

template <auto last>
constexpr bool is_up_to(decltype(last) value) {
  return value <= last;
}

constexpr bool is_known(EventKind kind) {
  switch (kind) {
    case EventKind::none:
      return true;
#define EVENT(kind, number) case EventKind::kind:
#include "detector/event_kinds.def"
#undef EVENT
      return true;
  }
  return false;
}

constexpr bool is_passed(RecordKind kind) {
  return kind == RecordKind::communicator || kind == RecordKind::memory || kind == RecordKind::clock ||
         kind == RecordKind::job;
}

template <class Fields>
void visit(Fields& fields, MaybeConst<TimePoint> auto& time) {
  fields.time(time);
}
template <class Fields>
void visit(Fields& fields, MaybeConst<Duration> auto& length) {
  fields.length(length);
}
template <class Fields>
void visit(Fields& fields, MaybeConst<bool> auto& flag) {
  fields.flag(flag);
}
// Of a fill job: an index.
template <class Fields>
void visit(Fields& fields, MaybeConst<std::uint32_t> auto& job) {
  fields.number(job);
  if constexpr (std::same_as<Fields, Take>) fields.expect(job < most_jobs);
}
template <class Fields>
void visit(Fields& fields, MaybeConst<RecordText> auto& text) {
  fields.text(text);
}
template <class Fields>
void visit(Fields& fields, MaybeConst<Audience> auto& audience) {
  fields.choice(audience, &is_up_to<Audience::every_rank>);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<SessionOptions> auto& options) {
  fields.number(options.device);
  fields.length(options.poll);
  fields.real(options.planner.price);
  fields.length(options.planner.between_slices);
  fields.length(options.planner.launching);
  fields.length(options.planner.behind_another);
  fields.length(options.planner.lateness);
  fields.length(options.planner.surely_late);
  fields.number(options.planner.most_in_flight);
  fields.length(options.planner.hangs_after);
  fields.real(options.spin);
  fields.real(options.slowdown_budget);
  fields.flag(options.fills);
  fields.flag(options.records_groups);
  fields.flag(options.dark);
  fields.number(options.detector.longest_period);
  fields.number(options.detector.most_groups);
  fields.number(options.detector.history);
  fields.number(options.detector.warm_up_iterations);
  fields.flag(options.detector.one_queue);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<GroupSummary> auto& summary) {
  fields.bits(summary.signature);
  fields.number(summary.sent_bytes);
  fields.number(summary.received_bytes);
  fields.number(summary.collective_bytes);
  fields.number(summary.send_peer);
  fields.number(summary.receive_peer);
  fields.number(summary.sends);
  fields.number(summary.receives);
  fields.number(summary.collectives);
  fields.choice(summary.captured, &is_up_to<Captured::unseen_kernel>);
  fields.number(summary.reduces);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<IssuedOperation> auto& operation) {
  fields.flag(operation.present);
  if (!operation.present) return;
  fields.number(operation.bytes);
  fields.number(operation.sequence);
  fields.number(operation.peer);
  fields.choice(operation.kind, &is_up_to<Operation::wait_signals>);
}

// Of the union what goes with the kind.
template <class Fields>
void visit(Fields& fields, MaybeConst<Event> auto& event) {
  fields.choice(event.kind, &is_known);
  fields.time(event.time);
  fields.flag(event.nothing_launched);
  fields.flag(event.more_follow);
  fields.choice(event.in_graph, &is_up_to<InGraph::somewhere>);
  fields.number(event.device);
  fields.choice(event.order, &is_up_to<StreamOrder::blocking>);
  fields.number(event.stream);
  fields.number(event.communicator);
  fields.number(event.group);
  fields.number(event.ticket);
  fields.number(event.done_ticket);
  if (event.kind == EventKind::group_issued) visit(fields, event.summary);
  if (event.kind == EventKind::wait_issued || event.kind == EventKind::context_waits) {
    fields.number(event.awaited.stream);
    fields.number(event.awaited.ticket);
    fields.flag(event.awaited.copies);
  }
  if (event.kind == EventKind::operations_issued)
    for (auto& operation : event.operations) visit(fields, operation);
  if (is_said(event.kind)) {
    fields.number(event.saying.number);
    fields.number(event.saying.chunk);
    fields.number(event.saying.thread);
  }
}

template <class Fields>
void visit(Fields& fields, MaybeConst<InFlight> auto& in_flight) {
  fields.number(in_flight.slices);
  if (in_flight.slices == 0) return;
  fields.time(in_flight.oldest_launched);
  fields.time(in_flight.first_ends);
  fields.time(in_flight.expected_end);
  fields.length(in_flight.oldest_alone);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<FillView> auto& view) {
  fields.flag(view.ready);
  fields.candidates(view.candidates);
  visit(fields, view.in_flight);
  fields.choice(view.fillable, &is_up_to<Fillable::nothing>);
  fields.flag(view.nothing_enqueued);
  fields.flag(view.awaits_work);
  fields.flag(view.may_wait);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<Pending> auto& pending) {
  fields.flag(pending.wanted);
  fields.number(pending.slices);
  fields.flag(pending.markers);
}

template <class Fields>
void visit_optional_time(Fields& fields, auto& time) {
  bool has = time.has_value();
  fields.flag(has);
  if (!has) return;
  TimePoint value = time.value_or(TimePoint{});
  fields.time(value);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(time)>>) time = value;
}

template <class Fields>
void visit(Fields& fields, MaybeConst<Decision> auto& decision) {
  fields.flag(decision.launch);
  fields.number(decision.candidate);
  visit_optional_time(fields, decision.again);
  bool is_refused = decision.refusal.has_value();
  fields.flag(is_refused);
  Unfilled refusal = decision.refusal.value_or(Unfilled{});
  if (is_refused)
    fields.choice(
        refusal, +[](Unfilled one) { return static_cast<std::size_t>(one) < unfilled_reasons; });
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(decision)>>)
    if (is_refused) decision.refusal = refusal;
  fields.number(decision.bubble);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<SliceRecord> auto& slice) {
  visit(fields, slice.job);
  fields.number(slice.unit);
  fields.number(slice.number);
  fields.number(slice.bubble);
  fields.time(slice.launched);
  fields.time(slice.finished);
  fields.length(slice.alone);
  fields.flag(slice.unit_done);
  fields.number(slice.correct);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<MoveRecord> auto& move) {
  visit(fields, move.job);
  fields.choice(move.way, &is_up_to<MoveWay::to_device>);
  fields.number(move.bytes);
  fields.number(move.bubble);
  fields.time(move.launched);
  fields.time(move.finished);
  fields.length(move.alone);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<JobRecord> auto& job) {
  visit(fields, job.job);
  fields.text(job.name);
  fields.choice(job.event, &is_up_to<JobEvent::withdrawn>);
  fields.text(job.why);
  fields.number(job.memory);
  fields.number(job.terms.priority);
  fields.real(job.terms.weight);
  fields.long_length(job.terms.deadline);
  fields.number(job.terms.units);
  fields.text(job.variant);
  fields.long_length(job.held);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<MemoryRecord> auto& memory) {
  fields.number(memory.cap);
  fields.number(memory.reserved);
  fields.number(memory.used);
  fields.number(memory.device_free);
  fields.number(memory.device_total);
  fields.choice(memory.event, &is_up_to<MemoryEvent::came_back>);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<CommunicatorRecord> auto& communicator) {
  fields.number(communicator.communicator);
  fields.number(communicator.rank);
  fields.number(communicator.ranks);
  fields.choice(communicator.event, &is_up_to<CommunicatorEvent::closed>);
  fields.bits(communicator.id);
  fields.text(communicator.name);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<ClockRecord> auto& clock) {
  fields.time(clock.monotonic);
  fields.long_length(clock.wall_clock);
  fields.length(clock.width);
}

template <class Fields>
void visit(Fields& fields, MaybeConst<RecordHash> auto& hash) {
  fields.choice(hash.kind, &is_up_to<RecordKind{record_kind_names.size() - 1}>);
  fields.bits(hash.fields);
}

// One that goes past the session: is_passed().
template <class Fields>
void visit(Fields& fields, MaybeConst<Record> auto& record) {
  fields.choice(record.kind, &is_passed);
  fields.number(record.device);
  fields.time(record.time);
  if (record.kind == RecordKind::communicator) visit(fields, record.communicator);
  if (record.kind == RecordKind::memory) visit(fields, record.memory);
  if (record.kind == RecordKind::clock) visit(fields, record.clock);
  if (record.kind == RecordKind::job) visit(fields, record.job);
}

}  // namespace weft
