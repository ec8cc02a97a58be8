// See csv_fields.h.
#include "trace/export/csv_fields.h"

#include "trace/export/kineto_rows.h"
#include "trace/formatted.h"

namespace weft {

std::string csv_text(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + "\"";
}

std::string CsvCells::number_text(double value) {
  return formatted("%.9g", value);
}

std::string CsvCells::hash_text(std::uint64_t bits) {
  return bits == 0 ? "" : formatted("%016llx", number(bits));
}

void JsonObjectFields::text(const char* key, std::string_view value) {
  add(key, json_text(value));
}

void JsonObjectFields::add(const char* key, std::string_view value) {
  text_ += first_ ? "\"" : ", \"";
  first_ = false;
  text_ += key;
  text_ += "\": ";
  text_ += value;
}

}  // namespace weft
