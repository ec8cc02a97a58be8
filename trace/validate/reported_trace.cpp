// See the header.
#include "trace/validate/reported_trace.h"

#include <algorithm>
#include <utility>

#include "trace/read/reader.h"

namespace weft {
namespace {

std::int64_t nanoseconds(TimePoint time) {
  return time.time_since_epoch().count();
}

class ReportReader : public TraceSink {
 public:
  void header(const TraceHeader&, const TraceLine&) override { end_segment(); }
  void record(const Record& record, const TraceLine&) override {
    if (record.kind == RecordKind::bubble) {
      add(record.bubble.pattern == Pattern::said ? reported_.said : reported_.bubbles, record.bubble.opened,
          record.bubble.closed);
    } else if (record.kind == RecordKind::uncertain) {
      add(reported_.uncertain, record.uncertain.began, record.uncertain.ended);
    } else if (record.kind == RecordKind::slice) {
      ++reported_.slices;
      reported_.fill_alone += record.slice.alone.count();
    } else if (record.kind == RecordKind::move) {
      add(reported_.moves, record.move.launched, record.move.finished);
    } else if (record.kind == RecordKind::limit) {
      trace_.limited = true;
    }
  }
  void summary(const TraceSummary& summary, const TraceLine&) override {
    const Span window{nanoseconds(summary.window_begin), nanoseconds(summary.window_end)};
    if (window.length() <= 0) ++trace_.empty_windows;
    trace_.dropped += summary.dropped_records;
    if (is_time(window.begin) && is_time(window.end)) segment_ = window;
    end_segment();
    trace_.ended = true;
  }
  ReportedTrace take() {
    if (segment_.length() > 0) end_segment();
    return std::move(trace_);
  }

 private:
  // A trace may come from a broken disk: the summary's notes tell of that.
  void add(AnySpans& spans, TimePoint begin, TimePoint end) {
    const Span span{nanoseconds(begin), nanoseconds(end)};
    if (!is_time(span.begin) || !is_time(span.end) || span.end < span.begin) return;
    spans.push_back(span);
    extend(span);
  }
  void extend(const Span& span) {
    segment_ =
        segment_.length() == 0 ? span : Span{std::min(segment_.begin, span.begin), std::max(segment_.end, span.end)};
  }
  void end_segment() {
    if (segment_.length() > 0) reported_.windows.push_back(segment_);
    segment_ = {};
    trace_.ended = false;
  }
  ReportedTrace trace_;
  Reported& reported_ = trace_.reported;
  Span segment_;
};

}  // namespace

ReportedTrace read_reported(const std::string& path) {
  ReportReader reader;
  read_trace(path, reader);
  return reader.take();
}

}  // namespace weft
