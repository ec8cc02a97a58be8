// The values of one line of a trace, as far as they can be true, put into a record field by field (record_fields.h). A
// disk, a bug or a stranger may have put anything there; a value that cannot be is said with its file and line, and its
// field stays as it was. An absent key leaves its field as it was, too.
//
// Used by decode.cpp, in the weft command only. Pure.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "trace/record_fields.h"

namespace weft {

// Nanoseconds: 146 years, of uptime or since 1970. The sum of two of them is still a number.
inline constexpr std::int64_t latest_time = (std::int64_t{1} << 62) - 1;
inline constexpr std::int64_t highest_count = std::int64_t{1} << 53;

// Why the numbers of one file cannot be trusted.
class Doubts {
 public:
  void add(std::uint64_t line, const std::string& why);
  void add(const Doubts& others);
  std::uint64_t count() const { return count_; }
  std::string text(const std::string& file) const;  // the first with its place, and how many more lines

 private:
  std::uint64_t count_ = 0, lines_ = 0, last_line_ = 0;
  std::string first_;
};

class LineValues {
 public:
  LineValues(const nlohmann::json& line, std::uint64_t number, Doubts& doubts)
      : line_(line), number_(number), doubts_(doubts) {}

  void constant(const char* /*key*/, const char* /*text*/) {}
  template <std::integral Integer>
  void count(const char* key, Integer& value) {
    constexpr std::uint64_t most = std::numeric_limits<Integer>::max();
    whole(key, value, 0, std::min(most, std::uint64_t{highest_count}));
  }
  template <std::signed_integral Integer>
  void integer(const char* key, Integer& value) {
    whole(key, value, std::numeric_limits<Integer>::min(), std::uint64_t{std::numeric_limits<Integer>::max()});
  }
  void total(const char* key, std::uint64_t& value) { count(key, value); }
  void total(const char* key, Duration& value) { length(key, value); }
  void time(const char* key, TimePoint& value);
  void begin_time(const char* key, TimePoint& value);
  void end_time(const char* key, TimePoint& value);
  void time_if(bool& known, const char* key, TimePoint& value);
  void length(const char* key, Duration& value);
  void needed_length(const char* key, Duration& value);
  void length_if(bool& known, const char* key, Duration& value);
  void total_if(bool& known, const char* key, Duration& value) { length_if(known, key, value); }
  void offset_if(bool& known, const char* key, Duration& value);
  void share(const char* key, double& value);
  void share_if(bool /*known*/, const char* key, double& value) { share(key, value); }
  void flag(const char* key, bool& value);
  void verdict(const char* key, std::int8_t& value);
  template <std::size_t most>
  void text(const char* key, FixedText<most>& value) {
    value = text_of(key);
  }
  void hash(const char* key, std::uint64_t& bits);
  // A name from a newer Weft is the first one of them.
  template <class Value>
  void choice(const char* key, const auto& names, Value& value) {
    const std::string_view name = text_of(key);
    const auto place = std::find(names.begin(), names.end(), name);
    if (place != names.end()) value = static_cast<Value>(place - names.begin());
  }
  template <class Part>
  void object(const char* key, std::optional<Part>& value) {
    const nlohmann::json* const object = object_of(key);
    if (object == nullptr) return;
    LineValues inside(*object, number_, doubts_);
    visit_fields(inside, value.emplace());
  }
  // More than there is room for cannot be from a Weft of this version.
  void list(const char* key, auto& values) {
    const nlohmann::json* const list = find(key);
    if (list == nullptr) return;
    if (!list->is_array()) return doubt(named(key) + " is not a list");
    for (const nlohmann::json& item : *list) {
      std::remove_reference_t<decltype(*values.begin())> value{};
      if (!item.is_object()) return doubt(named(key) + " holds something that is not an object");
      LineValues inside(item, number_, doubts_);
      visit_fields(inside, value);
      if (!values.add(value)) return doubt(named(key) + " is too long");
    }
  }
  void counts(const char* key, const auto& names, auto& values) {
    const nlohmann::json* const object = object_of(key);
    if (object == nullptr) return;
    LineValues inside(*object, number_, doubts_);
    for (std::size_t i = 0; i < values.size(); ++i) inside.count(names[i], values[i]);
  }

 private:
  static std::string named(const char* key);
  void doubt(const std::string& why) { doubts_.add(number_, why); }
  const nlohmann::json* find(const char* key) const;
  const nlohmann::json* object_of(const char* key) const;
  std::string_view text_of(const char* key) const;  // "" where it is none
  bool need(const char* key);
  std::optional<std::int64_t> whole_of(const char* key, std::int64_t least, std::uint64_t most);
  template <std::integral Integer>
  void whole(const char* key, Integer& value, std::int64_t least, std::uint64_t most) {
    if (const std::optional<std::int64_t> found = whole_of(key, least, most)) value = static_cast<Integer>(*found);
  }

  const nlohmann::json& line_;
  std::uint64_t number_;
  Doubts& doubts_;
  const char* begin_key_ = nullptr;  // of the latest begin_time; nullptr: it cannot be true
  TimePoint begin_{};
};

}  // namespace weft
