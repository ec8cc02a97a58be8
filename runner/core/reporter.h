// The words of a device on stderr: which rank speaks, and each thing once. Also the sink through which its records
// reach the trace, so that an anomaly is said where it is recorded.
//
// The dispatcher thread while it runs; threads of the main job inside the core's services before and after that.
#pragma once

#include <string>
#include <string_view>

#include "runner/log.h"
#include "trace/record_sink.h"
#include "trace/write/writer.h"

namespace weft {

class Reporter final : public RecordSink {
 public:
  // `label`: "rank 3". `speaks_for_all`: says what is the same on every rank. `trace`: nullptr, or outlives this.
  Reporter(std::string label, bool speaks_for_all, TraceWriter* trace)
      : label_(std::move(label)), speaks_for_all_(speaks_for_all), trace_(trace) {}

  void push(const Record& record) noexcept override {
    if (trace_ != nullptr) trace_->push(record);
    if (record.kind == RecordKind::anomaly) say(record.anomaly);
  }
  // Cannot fail for want of memory.
  void error(std::string_view text) const noexcept { log_parts(LogLevel::error, {label_, ": ", text}); }

  std::uint64_t dropped() const { return trace_ == nullptr ? 0 : trace_->dropped(); }

 private:
  void say(const AnomalyRecord& anomaly) const noexcept {
    if (anomaly.audience == Audience::trace || (anomaly.audience == Audience::one_rank && !speaks_for_all_)) return;
    const char* const ends = anomaly.stops_filling ? "filling is off for the rest of this run: " : "";
    log_parts(LogLevel::warn, {label_, ": ", ends, anomaly.text});
  }

  const std::string label_;
  const bool speaks_for_all_;
  TraceWriter* const trace_;
};

}  // namespace weft
