// Line by line; see the header.
#include "trace/read/reader.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/version.h"

namespace weft {
namespace {

using nlohmann::json;

std::string type_of(const json& line) {
  const auto type = line.find("type");
  return type != line.end() && type->is_string() ? type->get<std::string>() : "";
}

void check_header(const json& header, const std::string& path) {
  if (header.value("format", json()) != "weft-trace") throw std::runtime_error(path + " is not a trace of Weft");
  const json given = header.value("version", json());
  const std::int64_t version = given.is_number_integer() ? given.get<std::int64_t>() : 0;
  if (version < 1 || version > WEFT_TRACE_VERSION)
    throw std::runtime_error(path + " has version " + std::to_string(version) +
                             " of the trace format; this Weft reads up to " + std::to_string(WEFT_TRACE_VERSION));
}

// False: the line says nothing that can be used.
bool take_line(const std::string& path, json line, bool after_header, TraceSink& sink) {
  const std::string type = type_of(line);
  if (type == "header") {
    check_header(line, path);
    sink.header(std::move(line));
  } else if (type.empty() || !after_header) {
    return false;
  } else if (type == "summary") {
    sink.summary(std::move(line));
  } else {
    sink.record(std::move(line));
  }
  return true;
}

class Keeper : public TraceSink {
 public:
  explicit Keeper(std::vector<TraceSegment>& segments) : segments_(segments) {}
  void header(json line) override { segments_.push_back({std::move(line), {}, nullptr}); }
  void record(json line) override { segments_.back().records.push_back(std::move(line)); }
  void summary(json line) override { segments_.back().summary = std::move(line); }

 private:
  std::vector<TraceSegment>& segments_;
};

}  // namespace

TraceDamage read_trace(const std::string& path, TraceSink& sink) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
  TraceDamage damage;
  bool after_header = false;
  std::string text;
  while (std::getline(in, text)) {
    if (in.eof()) {  // the writer ends each line with a line break
      damage.cut_off = true;
      break;
    }
    json line = json::parse(text, nullptr, false);
    const bool usable = line.is_object() && take_line(path, std::move(line), after_header, sink);
    after_header = after_header || usable;  // the first line that can be used is a header
    if (!usable) ++damage.unreadable_lines;
  }
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
