// Line by line; see the header.
#include "trace/read/reader.h"

#include <optional>
#include <stdexcept>
#include <string>

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

void TraceLines::take(const FileLine& line) {
  if (line.cut_off) return damage_.cut_off.add(line.number);  // the writer ends each line with a line break
  if (line.too_long) return damage_.too_long.add(line.number);
  if (after_header_ && !sink_.wants(line.text)) return;
  if (const std::optional<Record> record = after_header_ ? read_written_record(line.text) : std::nullopt)
    return sink_.record(*record, TraceLine{line.number, {}});
  const json values = json::parse(line.text, nullptr, false);
  const bool usable = values.is_object() && take_line(path_, values, line.number, after_header_, sink_);
  after_header_ = after_header_ || usable;  // the first line that can be used is a header
  if (usable) return;
  damage_.unreadable.add(line.number);
  sink_.unreadable(line.text);
}

TraceDamage read_trace(const std::string& path, TraceSink& sink) {
  LineReader reader(path);
  TraceLines lines(path, sink);
  while (const std::optional<FileLine> line = reader.next()) lines.take(*line);
  TraceDamage damage = lines.damage();
  damage.error = reader.error();
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
