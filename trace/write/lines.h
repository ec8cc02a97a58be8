// The text of each kind of record: one line of the trace per function call, appended to `out`. docs/trace.md is the
// description for readers; a change here is a change there, and of WEFT_TRACE_VERSION when a reader would notice.
//
// Called by the writer thread only.
#pragma once

#include <cstdint>
#include <string>

#include "trace/record.h"

namespace weft {

// The contents of a header line besides the TraceHeader.
struct TraceOrigin {
  std::string host;
  std::int64_t process = 0;
  std::int64_t start_id = 0;  // of the process: with `process` and `host` unlike that of every other one
  Duration wall_clock{};      // since 1970, at the time `started` of the header
  std::string fill_job;       // copies: the header's pointers need not outlive TraceWriter::open()
  std::string mode;
};

void append_header(std::string& out, const TraceHeader& header, const TraceOrigin& origin);
void append_record(std::string& out, const Record& record);
void append_summary(std::string& out, const TraceHeader& header, const TraceSummary& summary);

}  // namespace weft
