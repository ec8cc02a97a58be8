// The records of one rank that are exported; see exported_run.h.
#include <algorithm>

#include "trace/export/exported_run.h"
#include "trace/record_fields.h"

namespace weft {
namespace {

// When a record is of, where it has more than its time.
class Extent : public IgnoredFields {
 public:
  explicit Extent(const Record& record) : begin(record.time), end(record.time) {
    visit_kind(record, [&](const auto& what) { visit_fields(*this, what); });
  }
  void begin_time(const char*, TimePoint value) { begin = value; }
  void end_time(const char*, TimePoint value) { end = value; }
  void time_if(bool known, const char*, TimePoint value) {
    if (!known) return;
    begin = is_known_ ? std::min(begin, value) : value;
    end = is_known_ ? std::max(end, value) : value;
    is_known_ = true;
  }
  TimePoint begin, end;

 private:
  bool is_known_ = false;
};

bool explains_others(RecordKind kind) {
  return kind == RecordKind::communicator || kind == RecordKind::job || kind == RecordKind::clock;
}

class Filter : public TraceSink {
 public:
  Filter(const ExportedRank& rank, RecordTaker& taker) : rank_(rank), taker_(taker) {}

  bool wants(std::string_view line) const override {
    return is_line_of(line, "header") || (counts_ && taker_.wants(line));
  }
  void header(const TraceHeader& header, const TraceLine&) override {
    counts_ = process_of(header) == rank_.process;
    if (!counts_) return;
    segment_ = std::min(headers_++, rank_.segments.size() - 1);
    taker_.header(header, segment_);
  }
  void record(const Record& record, const TraceLine& line) override {
    if (counts_ && line.sound() && is_exported(record)) taker_.take(record);
  }
  void summary(const TraceSummary& summary, const TraceLine& line) override {
    if (counts_ && line.sound()) taker_.summary(summary);
  }

 private:
  // Iterations go by their numbers: the times of one that is not wanted may touch those of one that is.
  bool is_exported(const Record& record) const {
    if (explains_others(record.kind)) return true;
    if (record.kind == RecordKind::iteration && rank_.iterations)
      return rank_.iterations->contains_count(record.iteration.number);
    const Extent extent(record);
    return rank_.segments[segment_].window.touches(extent.begin, extent.end);
  }

  const ExportedRank& rank_;
  RecordTaker& taker_;
  bool counts_ = false;
  std::size_t headers_ = 0, segment_ = 0;
};

}  // namespace

void read_rank(const ExportedRank& rank, RecordTaker& taker, ReadProgress* progress) {
  Filter filter(rank, taker);
  read_trace(rank.path, filter, progress);
}

}  // namespace weft
