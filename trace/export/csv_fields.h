// The fields of a record as columns of a table and as the cells of a row, under the keys of docs/trace.md. A record in
// a record has its key in front ("forecast.low"), a list is one cell with JSON.
//
// Used by csv.cpp and by tests, in the weft command only. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/record_fields.h"

namespace weft {

// With quotes where the text has a comma, a quote or an end of line.
std::string csv_text(std::string_view text);

// "id,opened,closed,...": the keys of a kind, in the order of CsvCells.
class CsvColumns : public IgnoredFields {
 public:
  explicit CsvColumns(std::string& line, std::string prefix = "") : line_(line), prefix_(std::move(prefix)) {}

  void count(const char* key, auto&) { add(key); }
  void integer(const char* key, auto&) { add(key); }
  void total(const char* key, auto&) { add(key); }
  void time(const char* key, auto&) { add(key); }
  void begin_time(const char* key, auto&) { add(key); }
  void end_time(const char* key, auto&) { add(key); }
  void time_if(auto&, const char* key, auto&) { add(key); }
  void length(const char* key, auto&) { add(key); }
  void needed_length(const char* key, auto&) { add(key); }
  void length_if(auto&, const char* key, auto&) { add(key); }
  void total_if(auto&, const char* key, auto&) { add(key); }
  void offset_if(auto&, const char* key, auto&) { add(key); }
  void share(const char* key, auto&) { add(key); }
  void share_if(bool, const char* key, auto&) { add(key); }
  void flag(const char* key, auto&) { add(key); }
  void verdict(const char* key, auto&) { add(key); }
  void text(const char* key, auto&) { add(key); }
  void choice(const char* key, const auto&, auto&) { add(key); }
  void hash(const char* key, auto&) { add(key); }
  template <class Inner>
  void object(const char* key, std::optional<Inner>&) {
    Inner inner{};
    CsvColumns columns(line_, prefix_ + key + ".");
    visit_fields(columns, inner);
  }
  void list(const char* key, auto&) { add(key); }
  void counts(const char* key, const auto& names, auto&) {
    for (const auto& name : names) add((std::string(key) + "." + name).c_str());
  }

 private:
  void add(const char* key) { line_ += (line_.empty() ? "" : ",") + prefix_ + key; }

  std::string& line_;
  std::string prefix_;
};

// The value of each column, empty where it is null.
class CsvCells : public IgnoredFields {
 public:
  // `known`: false leaves all cells empty, as those of a record that is not there.
  explicit CsvCells(std::string& line, bool known = true) : line_(line), known_(known) {}

  void count(const char*, std::uint64_t value) { add(std::to_string(value)); }
  void integer(const char*, std::int64_t value) { add(std::to_string(value)); }
  void total(const char*, std::uint64_t value) { add(std::to_string(value)); }
  void total(const char*, Duration value) { add(std::to_string(value.count())); }
  void time(const char*, TimePoint value) { add(value); }
  void begin_time(const char*, TimePoint value) { add(value); }
  void end_time(const char*, TimePoint value) { add(value); }
  void time_if(bool known, const char*, TimePoint value) { known ? add(value) : add(""); }
  void length(const char*, Duration value) { add(std::to_string(value.count())); }
  void needed_length(const char*, Duration value) { add(std::to_string(value.count())); }
  void length_if(bool known, const char*, Duration value) { add(known ? std::to_string(value.count()) : ""); }
  void total_if(bool known, const char*, Duration value) { add(known ? std::to_string(value.count()) : ""); }
  void offset_if(bool known, const char*, Duration value) { add(known ? std::to_string(value.count()) : ""); }
  void share(const char*, double value) { add(number_text(value)); }
  void share_if(bool known, const char*, double value) { add(known ? number_text(value) : ""); }
  void flag(const char*, bool value) { add(value ? "true" : "false"); }
  void verdict(const char*, int value) { add(value < 0 ? "" : value == 1 ? "true" : "false"); }
  void text(const char*, std::string_view value) { add(csv_text(value)); }
  void choice(const char*, const auto& names, auto value) { add(names[static_cast<std::size_t>(value)]); }
  void hash(const char*, std::uint64_t bits) { add(hash_text(bits)); }
  template <class Inner>
  void object(const char*, const std::optional<Inner>& value) {
    const Inner inner = value.value_or(Inner{});
    CsvCells cells(line_, known_ && value.has_value());
    cells.first_ = first_;
    visit_fields(cells, inner);
    first_ = cells.first_;
  }
  void list(const char*, const auto& values);
  void counts(const char*, const auto& names, const auto& values) {
    for (std::size_t i = 0; i < names.size(); ++i) add(std::to_string(values[i]));
  }

 private:
  static std::string number_text(double value);
  static std::string hash_text(std::uint64_t bits);
  void add(TimePoint time) { add(std::to_string(time.time_since_epoch().count())); }
  void add(std::string_view cell) {
    if (!first_) line_ += ',';
    first_ = false;
    if (known_) line_ += cell;
  }

  std::string& line_;
  bool known_, first_ = true;
};

// A record of a list as a JSON object.
class JsonObjectFields : public IgnoredFields {
 public:
  explicit JsonObjectFields(std::string& text) : text_(text) {}
  void count(const char* key, std::uint64_t value) { add(key, std::to_string(value)); }
  void integer(const char* key, std::int64_t value) { add(key, std::to_string(value)); }
  void total(const char* key, std::uint64_t value) { add(key, std::to_string(value)); }
  void total(const char* key, Duration value) { add(key, std::to_string(value.count())); }
  void text(const char* key, std::string_view value);
  void choice(const char* key, const auto& names, auto value) { text(key, names[static_cast<std::size_t>(value)]); }

 private:
  void add(const char* key, std::string_view value);

  std::string& text_;
  bool first_ = true;
};

void CsvCells::list(const char*, const auto& values) {
  std::string json = "[";
  for (const auto& value : values) {
    json += json.size() == 1 ? "{" : ", {";
    JsonObjectFields fields(json);
    visit_fields(fields, value);
    json += "}";
  }
  add(csv_text(json + "]"));
}

}  // namespace weft
