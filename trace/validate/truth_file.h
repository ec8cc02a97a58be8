// Reads a truth file (docs/validate.md): what CUPTI recorded of the GPUs of one process.
//
// Used by `weft validate`, `weft summary` and tests. Lines that say nothing are counted; a last line that breaks off
// is the end of a process that was killed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/validate/clock_map.h"
#include "trace/validate/intervals.h"

namespace weft {

// Of one GPU, in CLOCK_MONOTONIC.
struct DeviceTruth {
  Spans communication;         // kernels of NCCL
  Spans compute;               // all other kernels of the training, and copies and sets within the device
  Spans copies;                // between host and device
  Spans fill;                  // whatever ran on the fill job's stream
  std::int64_t fill_busy = 0;  // the sum of its kernels' lengths
  std::uint64_t fill_records = 0;
};

struct TruthFile {
  std::string path;
  std::string host;
  std::int64_t process = 0, start_id = 0, rank = 0;
  std::uint64_t cupti = 0;  // its version
  std::string off;          // why nothing was recorded, in some part of the run at least; "": it was
  std::uint64_t records = 0, dropped = 0, untimed = 0, unreadable = 0, unwritten = 0;
  std::uint64_t bad_lines = 0;
  int read_error = 0;   // errno of a read that failed, after which nothing is known
  bool torn = false;    // the last line breaks off
  bool ended = false;   // its last line is there
  bool clocks = false;  // CUPTI's clock was read: without that no time means anything
  bool clocks_rise = true;
  std::int64_t clock_uncertainty = 0;
  Span known;  // when records were taken, as far as the file tells
  std::map<int, DeviceTruth> devices;

  // Records that should be there: idle time may be claimed there that was none, and true idle time may be missing. A
  // line that says nothing may hold as many rows as a line has.
  double missing() const {
    return static_cast<double>(dropped + untimed + unreadable + unwritten + most_rows_of_a_line * bad_lines);
  }
  static constexpr std::uint64_t most_rows_of_a_line = 256;
};

// Throws std::runtime_error, one line, when the file cannot be read or is of another format or version.
TruthFile read_truth_file(const std::string& path);
// Its first line alone: whose it is.
TruthFile read_truth_header(const std::string& path);

}  // namespace weft
