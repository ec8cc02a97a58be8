// See decode.h.
#include "trace/read/decode.h"

#include <string>

namespace weft {

TraceHeader decode_header(const nlohmann::json& json, TraceLine& line) {
  LineValues values(json, line.number, line.doubts);
  TraceHeader header;
  visit_fields(values, header);
  return header;
}

TraceSummary decode_summary(const nlohmann::json& json, TraceLine& line) {
  LineValues values(json, line.number, line.doubts);
  TraceSummary summary;
  visit_fields(values, summary);
  return summary;
}

std::optional<Record> decode_record(const std::string& type, const nlohmann::json& json, TraceLine& line) {
  LineValues values(json, line.number, line.doubts);
#define RECORD(kind, Type)                 \
  if (type == #kind) {                     \
    Record record(0, TimePoint{}, Type{}); \
    visit_common_fields(values, record);   \
    visit_fields(values, record.kind);     \
    return record;                         \
  }
#include "trace/record_kinds.def"
#undef RECORD
  return std::nullopt;
}

}  // namespace weft
