// Reads one trace back, line by line. Takes whatever a killed job, a full disk or a stranger has left: a last line that
// breaks off, no summary, foreign lines, lines without end.
//
// Used by the weft command and by tests, never inside the training process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/read/decode.h"
#include "trace/read/line_reader.h"

namespace weft {

// Whether it begins as Weft writes a line of this type; other writers may do it in another way.
inline bool is_line_of(std::string_view line, std::string_view type) {
  constexpr std::string_view begin = R"({"type": ")";
  if (!line.starts_with(begin)) return false;
  line.remove_prefix(begin.size());
  return line.starts_with(type) && line.substr(type.size()).starts_with('"');
}

// Takes the lines of a trace in their order; records of kinds that are not known are passed over. A process that closes
// all its communicators and opens others writes a second header into the same file. So a file is a row of segments,
// each with a header, its records, and a summary if the process got so far.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // False: this line, which comes after a header, is passed over unread.
  virtual bool wants(std::string_view /*line*/) const { return true; }
  // A line that it wants and that says nothing.
  virtual void unreadable(std::string_view /*line*/) {}
  virtual void header(const TraceHeader& header, const TraceLine& line) = 0;  // comes before anything else
  virtual void record(const Record& record, const TraceLine& line) = 0;
  virtual void summary(const TraceSummary& summary, const TraceLine& line) = 0;
};

// How many lines, and the first of them.
struct LineCount {
  std::uint64_t lines = 0, first = 0;
  void add(std::uint64_t number) {
    if (lines++ == 0) first = number;
  }
};

struct TraceDamage {
  LineCount unreadable;  // not JSON, or not after a header
  LineCount too_long;    // more than most_line_bytes (line_reader.h); not counted as unreadable
  LineCount cut_off;     // the last line broke off; not counted as unreadable
  int error = 0;         // errno of the read after which nothing more came
};

// Hands the lines of one trace to a sink, one after the other; also those of a trace that is still being written.
class TraceLines {
 public:
  // Both outlive it. The path is for messages.
  TraceLines(const std::string& path, TraceSink& sink) : path_(path), sink_(sink) {}

  // A line that is cut off is counted as damage. Throws as read_trace() where the trace is of another format.
  void take(const FileLine& line);
  const TraceDamage& damage() const { return damage_; }

 private:
  const std::string& path_;
  TraceSink& sink_;
  bool after_header_ = false;
  TraceDamage damage_;
};

// Keeps nothing: a trace may be larger than the memory. Throws std::runtime_error, one line, when the file cannot be
// opened, is no regular file, or is of another format or a newer version.
TraceDamage read_trace(const std::string& path, TraceSink& sink);

// A whole trace in memory, for small ones.
struct TraceSegment {
  TraceHeader header;
  std::vector<Record> records;
  std::optional<TraceSummary> summary;  // nothing: none was written
};
struct TraceFile : TraceDamage {
  std::string path;
  std::vector<TraceSegment> segments;
};
TraceFile read_trace(const std::string& path);

}  // namespace weft
