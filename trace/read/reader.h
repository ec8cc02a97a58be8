// Reads one trace back, line by line. Takes whatever a killed job has left: a last line that breaks off, no summary,
// foreign lines.
//
// Used by the weft command and by tests, never inside the training process.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft {

// Takes the lines of a trace in their order. A process that closes all its communicators and opens others writes a
// second header into the same file. So a file is a row of segments, each with a header, its records, and a summary if
// the process got so far.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void header(nlohmann::json line) = 0;  // comes before anything else
  virtual void record(nlohmann::json line) = 0;
  virtual void summary(nlohmann::json line) = 0;
};

struct TraceDamage {
  std::uint64_t unreadable_lines = 0;  // not JSON, or not after a header
  bool cut_off = false;                // the last line broke off; not counted as unreadable
};

// Keeps nothing: a trace may be larger than the memory. Throws std::runtime_error, one line, when the file cannot be
// read or is of another format or a newer version.
TraceDamage read_trace(const std::string& path, TraceSink& sink);

// A whole trace in memory, for small ones.
struct TraceSegment {
  nlohmann::json header;
  std::vector<nlohmann::json> records;
  nlohmann::json summary;  // null: none was written
};
struct TraceFile : TraceDamage {
  std::string path;
  std::vector<TraceSegment> segments;
};
TraceFile read_trace(const std::string& path);

}  // namespace weft
