// The words of a device on stderr, each with its rank: which rank speaks, and how loud. Also the way of the records
// into the trace, on which an anomaly is said where it is recorded.
//
// The dispatcher thread while it runs; threads of the main job inside the core's services before, meanwhile and after
// that. A Reporter holds nothing that changes.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runner/log.h"
#include "trace/record_sink.h"
#include "trace/write/writer.h"

namespace weft {

class Reporter {
 public:
  explicit Reporter(int rank) : label_("rank " + std::to_string(rank)), speaks_for_all_(rank == 0) {}

  // This rank says what is the same on every rank.
  bool speaks_for_all() const { return speaks_for_all_; }

  void warn(Audience audience, std::string_view text) const {
    if (audience != Audience::trace) log(level_for(audience), label_ + ": " + std::string(text));
  }
  void info(std::string_view text) const { log(LogLevel::info, label_ + ": " + std::string(text)); }
  // These two need no memory.
  void error(std::string_view text) const noexcept { log_parts(LogLevel::error, {label_, ": ", text}); }
  void say(const AnomalyRecord& anomaly) const noexcept {
    if (anomaly.audience == Audience::trace) return;
    const char* const ends = anomaly.stops_filling ? "filling is off for the rest of this run: " : "";
    log_parts(level_for(anomaly.audience), {label_, ": ", ends, anomaly.text});
  }

 private:
  LogLevel level_for(Audience audience) const noexcept {
    return audience == Audience::every_rank || speaks_for_all_ ? LogLevel::warn : LogLevel::info;
  }

  const std::string label_;
  const bool speaks_for_all_;
};

class ReportedTrace final : public RecordSink {
 public:
  // All outlive this. `trace` may be nullptr, and so may those in `others`, which hear of all records.
  ReportedTrace(const Reporter& reporter, TraceWriter* trace, std::array<RecordSink*, 2> others)
      : reporter_(reporter), trace_(trace), others_(others) {}

  void push(const Record& record) noexcept override {
    if (trace_ != nullptr) trace_->push(record);
    for (RecordSink* other : others_)
      if (other != nullptr) other->push(record);
    if (record.kind == RecordKind::anomaly) reporter_.say(record.anomaly);
  }
  std::uint64_t dropped() const { return trace_ == nullptr ? 0 : trace_->dropped(); }

 private:
  const Reporter& reporter_;
  TraceWriter* const trace_;
  const std::array<RecordSink*, 2> others_;
};

}  // namespace weft
