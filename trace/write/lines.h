// The text of each kind of line, appended to `out`: the fields are those of trace/record_fields.h, in that order.
// docs/trace.md is the description for readers.
//
// Called by the writer thread only.
#pragma once

#include <string>

#include "trace/record.h"

namespace weft {

void append_header(std::string& out, const TraceHeader& header);
void append_record(std::string& out, const Record& record);
void append_summary(std::string& out, const TraceSummary& summary);

}  // namespace weft
