// A line of a trace, parsed as JSON, back into the record that was written: once, here, for all who read traces.
//
// Used by reader.cpp, in the weft command only. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "trace/read/line_values.h"
#include "trace/record.h"

namespace weft {

// Where a record stands, and what in it cannot be true. A field that cannot be has its default.
struct TraceLine {
  std::uint64_t number = 0;  // from 1
  Doubts doubts;
  bool sound() const { return doubts.count() == 0; }
};

TraceHeader decode_header(const nlohmann::json& json, TraceLine& line);
TraceSummary decode_summary(const nlohmann::json& json, TraceLine& line);
// Nothing: of a kind that this Weft does not know (any more).
std::optional<Record> decode_record(const std::string& type, const nlohmann::json& json, TraceLine& line);

}  // namespace weft
