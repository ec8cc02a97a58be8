// Field by field into JSON; see the header.
#include "trace/write/lines.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "trace/record_fields.h"
#include "trace/write/json.h"

namespace weft {
namespace {

class FieldWriter {
 public:
  explicit FieldWriter(JsonLine& line) : line_(line) {}

  void constant(const char* key, const char* text) { line_.text(key, text); }
  void count(const char* key, auto value) { line_.number(key, value); }
  void integer(const char* key, auto value) { line_.number(key, value); }
  void total(const char* key, auto value) { line_.number(key, value); }
  void time(const char* key, TimePoint value) { line_.number(key, value); }
  void begin_time(const char* key, TimePoint value) { line_.number(key, value); }
  void end_time(const char* key, TimePoint value) { line_.number(key, value); }
  void time_if(bool known, const char* key, TimePoint value) { length_if(known, key, value.time_since_epoch()); }
  void length(const char* key, Duration value) { line_.number(key, value); }
  void needed_length(const char* key, Duration value) { line_.number(key, value); }
  void share(const char* key, double value) { line_.number(key, value); }
  void share_if(bool known, const char* key, double value) {
    if (known)
      line_.number(key, value);
    else
      line_.null(key);
  }
  void length_if(bool known, const char* key, Duration value) {
    if (known)
      line_.number(key, value);
    else
      line_.null(key);
  }
  void total_if(bool known, const char* key, Duration value) { length_if(known, key, value); }
  void offset_if(bool known, const char* key, Duration value) { length_if(known, key, value); }
  void flag(const char* key, bool value) { line_.flag(key, value); }
  void verdict(const char* key, int value) {
    if (value < 0)
      line_.null(key);
    else
      line_.flag(key, value != 0);
  }
  void text(const char* key, std::string_view value) { line_.text(key, value); }
  void choice(const char* key, std::span<const char* const> names, auto value) {
    line_.text(key, names[static_cast<std::size_t>(value)]);
  }
  void hash(const char* key, std::uint64_t bits) {
    if (bits == 0) {
      line_.null(key);
      return;
    }
    char text[] = "0000000000000000";
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, bits, 16).ptr;
    std::copy_backward(digits, end, text + sizeof text - 1);
    line_.text(key, text);
  }
  template <class Part>
  void object(const char* key, const std::optional<Part>& part) {
    if (!part) {
      line_.null(key);
      return;
    }
    line_.open(key);
    visit_fields(*this, *part);
    line_.close();
  }
  void list(const char* key, const auto& parts) {
    line_.open_list(key);
    for (const auto& part : parts) {
      line_.open_item();
      visit_fields(*this, part);
      line_.close();
    }
    line_.close_list();
  }
  void counts(const char* key, std::span<const char* const> names, const auto& values) {
    line_.open(key);
    for (std::size_t i = 0; i < values.size(); ++i) line_.number(names[i], values[i]);
    line_.close();
  }

 private:
  JsonLine& line_;
};

}  // namespace

void append_header(std::string& out, const TraceHeader& header) {
  JsonLine line(out);
  FieldWriter fields(line.text("type", "header"));
  visit_fields(fields, header);
  line.end();
}

void append_record(std::string& out, const Record& record) {
  JsonLine line(out);
  FieldWriter fields(line.text("type", record_kind_names[static_cast<std::size_t>(record.kind)]));
  visit_common_fields(fields, record);
  visit_kind(record, [&](const auto& value) { visit_fields(fields, value); });
  line.end();
}

void append_summary(std::string& out, const TraceSummary& summary) {
  JsonLine line(out);
  FieldWriter fields(line.text("type", "summary"));
  visit_fields(fields, summary);
  line.end();
}

}  // namespace weft
