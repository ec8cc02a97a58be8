// The keys of every line of a trace, in their order: one function per kind, one line per field. From this table come
// the writer (write/lines.cpp), the reader (read/decode.cpp), `weft summary --json`, the sums of two parts of a run
// (totals.cpp), and the tests of docs/trace.md and of the way through a file and back. A key is listed nowhere else.
//
// visit_fields(fields, record) calls the method of `fields` that says what the value is. Pure; any thread.
#pragma once

#include <concepts>
#include <type_traits>

#include "trace/record.h"

namespace weft {

// The methods that `fields` has. Who needs only some of them derives from this: the others do nothing.
struct IgnoredFields {
  void constant(const char* /*key*/, const char* /*text*/) {}    // the same in all traces
  void count(const char* /*key*/, auto& /*integer*/) {}          // 0 or more: a number of things, an id, bytes
  void integer(const char* /*key*/, auto& /*integer*/) {}        // -1 and the like mean something
  void total(const char* /*key*/, auto& /*count_or_length*/) {}  // of two parts of a run it is the sum
  void time(const char* /*key*/, auto& /*time*/) {}
  void begin_time(const char* /*key*/, auto& /*time*/) {}  // a line without it, or without the next, says nothing
  void end_time(const char* /*key*/, auto& /*time*/) {}    // not before the begin_time in front of it
  void time_if(auto& /*known*/, const char* /*key*/, auto& /*time*/) {}  // null where it is not known
  void length(const char* /*key*/, auto& /*duration*/) {}
  void needed_length(const char* /*key*/, auto& /*duration*/) {}  // a line without it says nothing
  // Null where it is not known; `known` is read from the line, too.
  void length_if(auto& /*known*/, const char* /*key*/, auto& /*duration*/) {}
  void total_if(auto& /*known*/, const char* /*key*/, auto& /*duration*/) {}
  void offset_if(auto& /*known*/, const char* /*key*/, auto& /*duration*/) {}  // likewise, of either sign
  void share(const char* /*key*/, auto& /*number*/) {}                         // 0.01 is 1 %; six decimals are written
  void share_if(bool /*known*/, const char* /*key*/, auto& /*number*/) {}      // else null
  void flag(const char* /*key*/, auto& /*boolean*/) {}
  void verdict(const char* /*key*/, auto& /*integer*/) {}  // 1 true, 0 false, -1 null
  void text(const char* /*key*/, auto& /*fixed_text*/) {}
  void choice(const char* /*key*/, const auto& /*names*/, auto& /*value*/) {}  // by its name
  void hash(const char* /*key*/, auto& /*bits*/) {}  // 16 hexadecimal digits; a JSON number may lose bits. 0: null
  void object(const char* /*key*/, auto& /*optional_record*/) {}               // with keys of its own; nothing: null
  void list(const char* /*key*/, auto& /*records*/) {}                         // of objects with keys of their own
  void counts(const char* /*key*/, const auto& /*names*/, auto& /*array*/) {}  // an object with a count for each name
};

template <class Type, class Wanted>
concept MaybeConst = std::same_as<std::remove_const_t<Type>, Wanted>;

template <class Fields, MaybeConst<TraceHeader> Header>
void visit_fields(Fields& fields, Header& header) {
  fields.constant("format", "weft-trace");
  fields.count("version", header.version);
  fields.text("weft", header.weft);
  fields.count("rank", header.rank);
  fields.count("ranks", header.ranks);
  fields.count("device", header.device);
  fields.text("mode", header.mode);
  fields.text("fill_job", header.fill_job);
  fields.text("fill_stream", header.fill_stream);
  fields.text("fill_confinement", header.fill_confinement);
  fields.text("idle_unknown", header.idle_unknown);
  fields.text("caution", header.caution);
  fields.integer("nccl_version", header.nccl_version);
  fields.integer("driver_version", header.driver_version);
  fields.count("multiprocessors", header.multiprocessors);
  fields.text("host", header.host);
  fields.integer("process", header.process);
  fields.integer("start_id", header.start_id);
  fields.constant("clock", "CLOCK_MONOTONIC");
  fields.time("started", header.started);
  fields.length("wall_clock", header.wall_clock);
  fields.text("boot", header.boot);
  fields.offset_if(header.clock_offset_known, "clock_offset", header.clock_offset);
}

// Every record's, in front of those of its kind.
template <class Fields, MaybeConst<Record> AnyRecord>
void visit_common_fields(Fields& fields, AnyRecord& record) {
  fields.time("time", record.time);
  fields.count("device", record.device);
}

template <class Fields, MaybeConst<Forecast> AnyForecast>
void visit_fields(Fields& fields, AnyForecast& forecast) {
  fields.length("low", forecast.low);
  fields.length("median", forecast.median);
  fields.length("high", forecast.high);
  fields.count("samples", forecast.samples);
}

template <class Fields, MaybeConst<Bubble> AnyBubble>
void visit_fields(Fields& fields, AnyBubble& bubble) {
  fields.count("id", bubble.id);
  fields.begin_time("opened", bubble.opened);
  fields.end_time("closed", bubble.closed);
  fields.length("opened_within", bubble.opened_within);
  fields.length("closed_within", bubble.closed_within);
  fields.choice("cause", cause_names, bubble.cause);
  fields.choice("pattern", pattern_names, bubble.pattern);
  fields.count("stream", bubble.stream);
  fields.count("iteration", bubble.iteration);
  fields.hash("rhythm", bubble.rhythm);
  fields.count("turn", bubble.turn);
  fields.integer("ordinal", bubble.slot.ordinal);
  fields.count("group", bubble.group);
  fields.count("communicator", bubble.slot.communicator);
  fields.integer("send_peer", bubble.slot.send_peer);
  fields.integer("receive_peer", bubble.slot.receive_peer);
  fields.count("bytes", bubble.slot.bytes);
  fields.object("forecast", bubble.forecast);
  fields.integer("stage", bubble.said.stage);
  fields.integer("chunk", bubble.said.chunk);
  fields.integer("microbatch", bubble.said.microbatch);
  fields.flag("left_out", bubble.left_out);
}

template <class Fields, MaybeConst<UncertainRecord> Uncertain>
void visit_fields(Fields& fields, Uncertain& uncertain) {
  fields.begin_time("began", uncertain.began);
  fields.end_time("ended", uncertain.ended);
  fields.text("why", uncertain.why);
}

template <class Fields, MaybeConst<DarkTime> Dark>
void visit_fields(Fields& fields, Dark& dark) {
  fields.begin_time("began", dark.began);
  fields.end_time("ended", dark.ended);
}

template <class Fields, MaybeConst<SliceRecord> Slice>
void visit_fields(Fields& fields, Slice& slice) {
  fields.count("job", slice.job);
  fields.count("unit", slice.unit);
  fields.count("slice", slice.number);
  fields.count("bubble", slice.bubble);
  fields.begin_time("launched", slice.launched);
  fields.end_time("finished", slice.finished);
  fields.needed_length("alone", slice.alone);
  fields.flag("unit_done", slice.unit_done);
  fields.verdict("correct", slice.correct);
}

template <class Fields, MaybeConst<MoveRecord> Move>
void visit_fields(Fields& fields, Move& move) {
  fields.count("job", move.job);
  fields.choice("way", move_way_names, move.way);
  fields.count("bytes", move.bytes);
  fields.count("bubble", move.bubble);
  fields.begin_time("launched", move.launched);
  fields.end_time("finished", move.finished);
  fields.needed_length("alone", move.alone);
}

template <class Fields, MaybeConst<JobRecord> Job>
void visit_fields(Fields& fields, Job& job) {
  fields.count("job", job.job);
  fields.text("name", job.name);
  fields.choice("event", job_event_names, job.event);
  fields.text("why", job.why);
  fields.count("memory", job.memory);
  fields.integer("priority", job.terms.priority);
  fields.share("weight", job.terms.weight);
  fields.length("deadline", job.terms.deadline);
  fields.count("units", job.terms.units);
  fields.text("variant", job.variant);
  fields.length("held", job.held);
}

template <class Fields, MaybeConst<JobTotals> Job>
void visit_fields(Fields& fields, Job& job) {
  fields.count("job", job.job);
  fields.text("name", job.name);
  fields.text("variant", job.variant);
  fields.total("slices", job.slices);
  fields.total("units", job.units);
  fields.total("units_wrong", job.units_wrong);
  fields.total("filled", job.filled);
  fields.total("held", job.held);
}

template <class Fields, MaybeConst<Iteration> AnyIteration>
void visit_fields(Fields& fields, AnyIteration& iteration) {
  fields.count("number", iteration.number);
  fields.hash("rhythm", iteration.rhythm);
  fields.count("turn", iteration.turn);
  fields.begin_time("started", iteration.started);
  fields.end_time("ended", iteration.ended);
  fields.count("groups", iteration.groups);
  fields.length_if(iteration.idle_known, "idle", iteration.idle);
  fields.length("uncertain", iteration.uncertain);
  fields.integer("said", iteration.said);
  fields.flag("dark", iteration.dark);
}

template <class Fields, MaybeConst<MemoryRecord> Memory>
void visit_fields(Fields& fields, Memory& memory) {
  fields.choice("event", memory_event_names, memory.event);
  fields.count("cap", memory.cap);
  fields.count("reserved", memory.reserved);
  fields.count("used", memory.used);
  fields.count("device_free", memory.device_free);
  fields.count("device_total", memory.device_total);
}

template <class Fields, MaybeConst<AnomalyRecord> Anomaly>
void visit_fields(Fields& fields, Anomaly& anomaly) {
  fields.text("text", anomaly.text);
  fields.flag("stops_filling", anomaly.stops_filling);
}

template <class Fields, MaybeConst<CommunicatorRecord> Communicator>
void visit_fields(Fields& fields, Communicator& communicator) {
  fields.choice("event", communicator_event_names, communicator.event);
  fields.count("communicator", communicator.communicator);
  fields.count("rank", communicator.rank);
  fields.count("ranks", communicator.ranks);
  fields.hash("id", communicator.id);
  fields.text("name", communicator.name);
}

template <class Fields, MaybeConst<OperationRecord> AnyOperation>
void visit_fields(Fields& fields, AnyOperation& operation) {
  fields.choice("kind", operation_names, operation.kind);
  fields.integer("peer", operation.peer);
  fields.count("bytes", operation.bytes);
  fields.count("sequence", operation.sequence);
}

template <class Fields, MaybeConst<GroupRecord> Group>
void visit_fields(Fields& fields, Group& group) {
  fields.count("id", group.id);
  fields.count("communicator", group.communicator);
  fields.count("iteration", group.iteration);
  fields.time_if(group.begun_known, "begun", group.begun);
  fields.length("begun_within", group.begun_within);
  fields.time_if(group.ended_known, "ended", group.ended);
  fields.length("ended_within", group.ended_within);
  fields.list("operations", group.operations);
  fields.count("left_out", group.left_out);
}

template <class Fields, MaybeConst<ClockRecord> Clock>
void visit_fields(Fields& fields, Clock& clock) {
  fields.time("monotonic", clock.monotonic);
  fields.length("wall_clock", clock.wall_clock);
  fields.length("width", clock.width);
}

template <class Fields, MaybeConst<SlowdownRecord> Slowdown>
void visit_fields(Fields& fields, Slowdown& slowdown) {
  fields.share("budget", slowdown.budget);
  fields.share("share", slowdown.share);
  fields.count("iteration", slowdown.iteration);
  fields.count("control", slowdown.control);
  fields.count("filled", slowdown.filled);
  fields.share_if(slowdown.control != 0, "estimate", slowdown.estimate);
  fields.share_if(slowdown.control != 0, "low", slowdown.low);
  fields.share_if(slowdown.control != 0, "high", slowdown.high);
}

template <class Fields, MaybeConst<WatchingRecord> Watching>
void visit_fields(Fields& fields, Watching& watching) {
  fields.share("budget", watching.budget);
  fields.choice("looks", watching_looks_names, watching.looks);
  fields.count("iteration", watching.iteration);
  fields.count("dark", watching.dark);
  fields.count("watched", watching.watched);
  fields.share_if(watching.dark != 0, "estimate", watching.estimate);
  fields.share_if(watching.dark != 0, "low", watching.low);
  fields.share_if(watching.dark != 0, "high", watching.high);
}

template <class Fields, MaybeConst<CallFrameRecord> Frame>
void visit_fields(Fields& fields, Frame& frame) {
  fields.hash("rhythm", frame.rhythm);
  fields.integer("ordinal", frame.ordinal);
  fields.count("group", frame.group);
  fields.choice("kind", frame_kind_names, frame.kind);
  fields.count("number", frame.number);
  fields.text("function", frame.function);
  fields.text("file", frame.file);
  fields.count("line", frame.line);
  fields.count("offset", frame.offset);
}

template <class Fields, MaybeConst<LimitRecord> Limit>
void visit_fields(Fields& fields, Limit& limit) {
  fields.count("bytes", limit.bytes);
}

template <class Fields, MaybeConst<StartupRecord> Startup>
void visit_fields(Fields& fields, Startup& startup) {
  fields.total("length", startup.length);
  fields.total_if(startup.idle_known, "idle", startup.idle);
  fields.total("uncertain", startup.uncertain);
  fields.total("filled", startup.filled);
}

template <class Fields, MaybeConst<TraceSummary> Summary>
void visit_fields(Fields& fields, Summary& summary) {
  fields.count("rank", summary.rank);
  fields.count("device", summary.device);
  fields.time("window_begin", summary.window_begin);
  fields.time("window_end", summary.window_end);
  fields.total("iterations", summary.iterations);
  fields.length("iteration_median", summary.iteration_median);
  fields.total("bubbles", summary.bubbles);
  fields.total_if(summary.idle_known, "idle", summary.idle);
  fields.total("uncertain", summary.uncertain);
  fields.total("dark", summary.dark);
  fields.total("filled", summary.filled);
  fields.total("idle_left_out", summary.idle_left_out);
  fields.total("slices", summary.slices);
  fields.total("moved", summary.moved);
  fields.total("fill_units", summary.fill_units);
  fields.total("fill_units_wrong", summary.fill_units_wrong);
  fields.counts("unfilled", unfilled_names, summary.unfilled);
  fields.total("dropped_records", summary.dropped_records);
  fields.total("records_left_out", summary.records_left_out);
  fields.object("slowdown", summary.slowdown);
  fields.object("watching", summary.watching);
  fields.flag("filling_stopped", summary.filling_stopped);
  fields.text("reason", summary.reason);
  fields.text("fill_stream", summary.fill_stream);
  fields.text("fill_confinement", summary.fill_confinement);
  fields.text("uncertain_reason", summary.uncertain_reason);
  fields.length("end_uncertainty", summary.end_uncertainty);
  fields.total("cpu", summary.cpu);
  fields.total("spun", summary.spun);
  fields.total("groups_thinned_out", summary.groups_thinned_out);
  fields.total("annotations_refused", summary.annotations_refused);
  fields.total("annotations_held_back", summary.annotations_held_back);
  fields.list("jobs", summary.jobs);
  fields.object("startup", summary.startup);
}

// Calls function(value) with what the record carries.
template <MaybeConst<Record> AnyRecord, class Function>
void visit_kind(AnyRecord& record, Function function) {
  switch (record.kind) {
#define RECORD(kind, Type) \
  case RecordKind::kind:   \
    return function(record.kind);
#include "trace/record_kinds.def"
#undef RECORD
  }
}

}  // namespace weft
