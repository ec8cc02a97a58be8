// Row by row, each a line; see the header.
#include "trace/export/kineto_rows.h"

#include <nlohmann/json.hpp>

#include "trace/formatted.h"

namespace weft {
namespace {

// Microseconds with all nanoseconds behind the point: as a floating-point number it would lose some.
std::string microseconds(Duration time) {
  const long long count = time.count();
  const unsigned long long size =
      count < 0 ? 0ULL - static_cast<unsigned long long>(count) : static_cast<unsigned long long>(count);
  return formatted("%s%llu.%03llu", count < 0 ? "-" : "", size / 1000, size % 1000);
}

}  // namespace

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

KinetoRows::KinetoRows(OutputFile& file, const KinetoHead& head) : file_(file) {
  file_.write("{\"schemaVersion\": 1,\n\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " +
              std::to_string(head.rank) + ", \"world_size\": " + std::to_string(head.ranks) +
              "},\n\"deviceProperties\": [{\"id\": " + std::to_string(head.device) +
              ", \"numSms\": " + std::to_string(head.multiprocessors) + "}],\n\"traceName\": " + json_text(head.name) +
              ",\n\"hostName\": " + json_text(head.host) +
              ",\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": " + std::to_string(head.base) +
              ",\n\"traceEvents\": [");
}

void KinetoRows::begin_row() {
  line_ = first_ ? "\n" : ",\n";
  first_ = false;
}

void KinetoRows::row(const KinetoRow& row, const KinetoArguments& arguments) {
  begin_row();
  line_ += R"({"ph": "X", "cat": ")";
  line_ += row.category;
  line_ += R"(", "name": )" + json_text(row.name) + ", \"pid\": " + std::to_string(row.process) +
           ", \"tid\": " + std::to_string(row.thread) + ", \"ts\": " + microseconds(row.begin) +
           ", \"dur\": " + microseconds(row.length) + ", \"args\": {";
  const char* separator = "\"";
  for (const auto& [key, value] : arguments) {
    line_ += separator;
    line_ += key;
    line_ += "\": " + value;
    separator = ", \"";
  }
  line_ += "}}";
  file_.write(line_);
}

void KinetoRows::name_row(const char* what, std::int64_t process, std::int64_t thread, std::string_view name) {
  begin_row();
  line_ += R"({"ph": "M", "name": ")" + std::string(what) + "\", \"pid\": " + std::to_string(process) +
           ", \"tid\": " + std::to_string(thread) + ", \"ts\": 0, \"args\": {\"name\": " + json_text(name) + "}}";
  file_.write(line_);
}

void KinetoRows::process_name(std::int64_t process, std::string_view name, int place) {
  name_row("process_name", process, 0, name);
  begin_row();
  line_ += "{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": " + std::to_string(process) +
           ", \"tid\": 0, \"ts\": 0, \"args\": {\"sort_index\": " + std::to_string(place) + "}}";
  file_.write(line_);
}

void KinetoRows::thread_name(std::int64_t process, std::int64_t thread, std::string_view name) {
  name_row("thread_name", process, thread, name);
}

void KinetoRows::finish() {
  file_.write("\n]}\n");
}

}  // namespace weft
