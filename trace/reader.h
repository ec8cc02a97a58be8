// Reads one trace back. Takes whatever a killed job has left: a last line that breaks off, no summary, foreign lines.
//
// Used by the weft command and by tests, never inside the training process.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft {

// A process that closes all its communicators and opens others writes a second header into the same file. So a file is
// a row of segments, each with a header, its records, and a summary if the process got so far (null if not).
struct TraceSegment {
  nlohmann::json header;
  std::vector<nlohmann::json> records;
  nlohmann::json summary;
};

struct TraceFile {
  std::string path;
  std::vector<TraceSegment> segments;
  std::uint64_t unreadable_lines = 0;  // not JSON, or not after a header
  bool cut_off = false;                // the last line broke off; not counted as unreadable
};

// Throws std::runtime_error, one line, when the file cannot be read or is of another format or a newer version.
TraceFile read_trace(const std::string& path);

}  // namespace weft
