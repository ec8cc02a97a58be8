// Line by line; see the header.
#include "trace/reader.h"

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

void take_line(TraceFile& file, json line) {
  const std::string type = type_of(line);
  if (type == "header") {
    check_header(line, file.path);
    file.segments.push_back({std::move(line), {}, nullptr});
  } else if (type.empty() || file.segments.empty()) {
    ++file.unreadable_lines;
  } else if (type == "summary") {
    file.segments.back().summary = std::move(line);
  } else {
    file.segments.back().records.push_back(std::move(line));
  }
}

}  // namespace

TraceFile read_trace(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
  TraceFile file;
  file.path = path;
  std::string text;
  while (std::getline(in, text)) {
    const bool whole = !in.eof();  // the writer ends each line with a line break
    json line = json::parse(text, nullptr, false);
    if (whole && !text.empty() && line.is_object())
      take_line(file, std::move(line));
    else if (!whole)
      file.cut_off = true;
    else
      ++file.unreadable_lines;
  }
  return file;
}

}  // namespace weft
