// The records of a rank in virtual time: how far its bubbles are true and its forecasts hold. They go on to another
// sink where there is one.
//
// Used by the model of a rank. Pure.
#pragma once

#include <cstdint>

#include "runner/model/agreement.h"
#include "trace/record_sink.h"

namespace weft::model {

class RankRecords final : public RecordSink {
 public:
  // Quantiles of fewer lengths are their extremes, which say less.
  static constexpr std::uint32_t samples_of_quantiles = 9;

  explicit RankRecords(RecordSink* next) : next_(next) {}

  void push(const Record& record) noexcept override {
    if (record.kind == RecordKind::bubble) note(record.bubble);
    if (record.kind == RecordKind::anomaly && record.anomaly.stops_filling && why_stopped.empty())
      why_stopped = record.anomaly.text;
    if (next_ != nullptr) next_->push(record);
  }

  Agreement agreement;
  // Bubbles with a forecast, and those of them whose length lay between its low and its high quantile.
  std::uint64_t forecast = 0, as_forecast = 0;
  RecordText why_stopped;  // filling; "": it goes on

 private:
  void note(const Bubble& bubble) {
    agreement.add_reported(bubble.opened, bubble.closed);
    if (!bubble.forecast || bubble.forecast->samples < samples_of_quantiles) return;
    const Duration length = bubble.closed - bubble.opened;
    ++forecast;
    as_forecast += length >= bubble.forecast->low && length <= bubble.forecast->high ? 1 : 0;
  }

  RecordSink* next_;
};

}  // namespace weft::model
