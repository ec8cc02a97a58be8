// How far a long reading of traces has come, for whoever shows it. Of a trace the bytes count, as its size is known.
//
// Implemented by verbs that show a progress bar; called while lines go by, on the thread that reads.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/read/reader.h"

namespace weft {

class ReadProgress {
 public:
  virtual ~ReadProgress() = default;
  // From here on `bytes` are to be read; `what` says for what, a string literal.
  virtual void begin(const char* what, std::uint64_t bytes) = 0;
  virtual void advance(std::uint64_t bytes) = 0;
};

// Hands everything on, and says how much went by. The lines before the first header are not counted.
class CountedLines : public TraceSink {
 public:
  CountedLines(TraceSink& sink, ReadProgress& progress) : sink_(sink), progress_(progress) {}
  bool wants(std::string_view line) const override {
    progress_.advance(line.size() + 1);
    return sink_.wants(line);
  }
  void header(const TraceHeader& header, const TraceLine& line) override { sink_.header(header, line); }
  void record(const Record& record, const TraceLine& line) override { sink_.record(record, line); }
  void summary(const TraceSummary& summary, const TraceLine& line) override { sink_.summary(summary, line); }

 private:
  TraceSink& sink_;
  ReadProgress& progress_;
};

}  // namespace weft
