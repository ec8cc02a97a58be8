// Record by record into JSON; see the header.
#include "trace/write/lines.h"

#include <algorithm>
#include <string_view>

#include "trace/write/json.h"
#include "weft/version.h"

namespace weft {
namespace {

const char* name_of(RecordKind kind) {
  switch (kind) {
#define RECORD(name, Type) \
  case RecordKind::name:   \
    return #name;
#include "trace/record_kinds.def"
#undef RECORD
  }
  return "unknown";
}

const char* name_of(Unfilled reason) {
  switch (reason) {
#define REASON(name, text) \
  case Unfilled::name:     \
    return #name;
#include "trace/unfilled.def"
#undef REASON
  }
  return "other";
}

template <std::size_t size>
std::string_view bounded(const char (&text)[size]) {
  return {text, static_cast<std::size_t>(std::find(text, text + size, '\0') - text)};
}

void append(JsonLine& line, const Bubble& bubble) {
  line.number("id", bubble.id).number("opened", bubble.opened).number("closed", bubble.closed);
  line.text("cause", weft::name_of(bubble.cause)).text("pattern", weft::name_of(bubble.pattern));
  line.number("iteration", bubble.iteration).number("ordinal", bubble.slot.ordinal).number("group", bubble.group);
  line.number("communicator", bubble.slot.communicator).number("send_peer", bubble.slot.send_peer);
  line.number("receive_peer", bubble.slot.receive_peer).number("bytes", bubble.slot.bytes);
  if (!bubble.forecast) {
    line.null("forecast");
    return;
  }
  line.open("forecast").number("low", bubble.forecast->low).number("median", bubble.forecast->median);
  line.number("high", bubble.forecast->high).number("samples", bubble.forecast->samples).close();
}

void append(JsonLine& line, const SliceRecord& slice) {
  line.number("unit", slice.unit).number("slice", slice.number).number("bubble", slice.bubble);
  line.number("launched", slice.launched).number("finished", slice.finished).number("alone", slice.alone);
  line.flag("unit_done", slice.unit_done);
  if (slice.correct < 0)
    line.null("correct");
  else
    line.flag("correct", slice.correct == 1);
}

void append(JsonLine& line, const Iteration& iteration) {
  line.number("number", iteration.number).number("started", iteration.started).number("ended", iteration.ended);
  line.number("groups", iteration.groups);
  if (iteration.idle_known)
    line.number("idle", iteration.idle);
  else
    line.null("idle");
}

void append(JsonLine& line, const ForecastRecord& forecast) {
  line.number("bubble", forecast.bubble).number("ordinal", forecast.ordinal).number("low", forecast.low);
  line.number("median", forecast.median).number("high", forecast.high).number("real", forecast.real);
}

void append(JsonLine& line, const MemoryRecord& memory) {
  line.text("event", memory.event == nullptr ? "" : memory.event).number("cap", memory.cap);
  line.number("reserved", memory.reserved).number("used", memory.used);
  line.number("device_free", memory.device_free).number("device_total", memory.device_total);
}

void append(JsonLine& line, const AnomalyRecord& anomaly) {
  line.text("text", bounded(anomaly.text)).flag("stops_filling", anomaly.stops_filling);
}

void append(JsonLine& line, const CommunicatorRecord& communicator) {
  line.text("event", communicator.opened ? "opened" : "closed").number("communicator", communicator.communicator);
  line.number("rank", communicator.rank).number("ranks", communicator.ranks);
}

void append(JsonLine& line, const SlowdownRecord& slowdown) {
  line.number("budget", slowdown.budget).number("share", slowdown.share).number("iteration", slowdown.iteration);
  line.number("control", slowdown.control).number("filled", slowdown.filled);
  if (slowdown.control == 0)
    line.null("estimate").null("low").null("high");
  else
    line.number("estimate", slowdown.estimate).number("low", slowdown.low).number("high", slowdown.high);
}

void append(JsonLine& line, const LimitRecord& limit) {
  line.number("bytes", limit.bytes);
}

}  // namespace

void append_header(std::string& out, const TraceHeader& header, const TraceOrigin& origin) {
  JsonLine line(out);
  line.text("type", "header").text("format", "weft-trace").number("version", WEFT_TRACE_VERSION);
  line.text("weft", WEFT_VERSION_STRING).number("rank", header.rank).number("ranks", header.ranks);
  line.number("device", header.device).text("mode", origin.mode).text("fill_job", origin.fill_job);
  line.text("idle_unknown", header.idle_unknown);
  line.number("nccl_version", header.nccl_version).number("driver_version", header.driver_version);
  line.number("multiprocessors", header.multiprocessors).text("host", origin.host).number("process", origin.process);
  line.number("start_id", origin.start_id);
  line.text("clock", "CLOCK_MONOTONIC").number("started", header.started).number("wall_clock", origin.wall_clock);
  line.end();
}

void append_record(std::string& out, const Record& record) {
  JsonLine line(out);
  line.text("type", name_of(record.kind)).number("time", record.time).number("device", record.device);
  switch (record.kind) {
#define RECORD(name, Type)     \
  case RecordKind::name:       \
    append(line, record.name); \
    break;
#include "trace/record_kinds.def"
#undef RECORD
  }
  line.end();
}

void append_summary(std::string& out, const TraceHeader& header, const TraceSummary& summary) {
  JsonLine line(out);
  line.text("type", "summary").number("rank", header.rank).number("device", header.device);
  line.number("window_begin", summary.window_begin).number("window_end", summary.window_end);
  line.number("iterations", summary.iterations).number("iteration_median", summary.iteration_median);
  line.number("bubbles", summary.bubbles);
  if (*header.idle_unknown == '\0')
    line.number("idle", summary.idle);
  else
    line.null("idle");
  line.number("filled", summary.filled);
  line.number("slices", summary.slices).number("fill_units", summary.fill_units);
  line.number("fill_units_wrong", summary.fill_units_wrong).open("unfilled");
  for (std::size_t reason = 0; reason < unfilled_reasons; ++reason)
    line.number(name_of(static_cast<Unfilled>(reason)), summary.unfilled[reason]);
  line.close().number("dropped_records", summary.dropped_records);
  line.number("records_left_out", summary.records_left_out);
  if (summary.budgeted) {
    append(line.open("slowdown"), summary.slowdown);
    line.close();
  } else {
    line.null("slowdown");
  }
  line.flag("filling_stopped", summary.filling_stopped).text("reason", bounded(summary.reason));
  line.end();
}

}  // namespace weft
