// Line by line; see the header.
#include "trace/read/reader.h"

#include <optional>
#include <stdexcept>
#include <string>

#include "trace/read/line_reader.h"
#include "trace/read/printable.h"
#include "trace/read/written_line.h"
#include "weft/version.h"

namespace weft {
namespace {

using nlohmann::json;

std::string type_of(const json& line) {
  const auto type = line.find("type");
  return type != line.end() && type->is_string() ? type->get<std::string>() : "";
}

void check_header(const json& header, const std::string& place) {
  if (header.value("format", json()) != "weft-trace") throw std::runtime_error(place + " is not a trace of Weft");
  const json given = header.value("version", json());
  const std::int64_t version = given.is_number_integer() ? given.get<std::int64_t>() : 0;
  if (version < 1 || version > WEFT_TRACE_VERSION)
    throw std::runtime_error(place + " has version " + std::to_string(version) +
                             " of the trace format; this Weft reads up to " + std::to_string(WEFT_TRACE_VERSION));
}

// False: the line says nothing that can be used.
bool take_line(const std::string& path, const json& values, std::uint64_t number, bool after_header, TraceSink& sink) {
  const std::string type = type_of(values);
  TraceLine line{number, {}};
  if (type == "header") {
    check_header(values, printable(path) + ":" + std::to_string(number) + ":");
    const TraceHeader header = decode_header(values, line);
    sink.header(header, line);
  } else if (type.empty() || !after_header) {
    return false;
  } else if (type == "summary") {
    const TraceSummary summary = decode_summary(values, line);
    sink.summary(summary, line);
  } else if (const std::optional<Record> record = decode_record(type, values, line)) {
    sink.record(*record, line);
  }
  return true;
}

class Keeper : public TraceSink {
 public:
  explicit Keeper(std::vector<TraceSegment>& segments) : segments_(segments) {}
  void header(const TraceHeader& header, const TraceLine& /*line*/) override { segments_.push_back({header, {}, {}}); }
  void record(const Record& record, const TraceLine& /*line*/) override { segments_.back().records.push_back(record); }
  void summary(const TraceSummary& summary, const TraceLine& /*line*/) override { segments_.back().summary = summary; }

 private:
  std::vector<TraceSegment>& segments_;
};

}  // namespace

TraceDamage read_trace(const std::string& path, TraceSink& sink) {
  LineReader lines(path);
  TraceDamage damage;
  bool after_header = false;
  while (const std::optional<FileLine> next = lines.next()) {
    if (next->cut_off) {  // the writer ends each line with a line break
      damage.cut_off.add(next->number);
      break;
    }
    if (next->too_long) {
      damage.too_long.add(next->number);
      continue;
    }
    if (after_header && !sink.wants(next->text)) continue;
    if (const std::optional<Record> record = after_header ? read_written_record(next->text) : std::nullopt) {
      sink.record(*record, TraceLine{next->number, {}});
      continue;
    }
    const json line = json::parse(next->text, nullptr, false);
    const bool usable = line.is_object() && take_line(path, line, next->number, after_header, sink);
    after_header = after_header || usable;  // the first line that can be used is a header
    if (usable) continue;
    damage.unreadable.add(next->number);
    sink.unreadable(next->text);
  }
  damage.error = lines.error();
  return damage;
}

TraceFile read_trace(const std::string& path) {
  TraceFile file;
  file.path = path;
  Keeper keeper(file.segments);
  static_cast<TraceDamage&>(file) = read_trace(path, keeper);
  return file;
}

}  // namespace weft
