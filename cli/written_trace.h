// A trace that the command writes itself, in the format of a real run: of a pipeline in virtual time, or of a
// recording.
//
// Used by weft simulate and weft replay; one thread. It throws std::runtime_error, one line, where a folder cannot be
// made or a file not written.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "trace/record_sink.h"

namespace weft::cli {

// Made with those above it. It may hold no traces yet.
void make_trace_folder(const std::string& directory);

class WrittenTrace final : public RecordSink {
 public:
  explicit WrittenTrace(const std::string& path);

  // A header for each segment, then its records, then the summary if there is one.
  void begin(const TraceHeader& header);
  void push(const Record& record) noexcept override;
  void end(const TraceSummary& summary);
  void write();

 private:
  std::string path_, text_;
  std::ofstream file_;
};

}  // namespace weft::cli
