// The blocks of a recording, as bytes. Used by Recording on its thread, and by tests. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runner/recording/format.h"
#include "trace/record.h"

namespace weft {

std::string prefix_bytes();
void append_block(std::string& out, BlockKind kind, std::string_view contents);
void append_header_block(std::string& out, const TraceHeader& header);
// `summary`: nullptr, there is none.
void append_end_block(std::string& out, RecordingEnd end, const TraceSummary* summary);

}  // namespace weft
