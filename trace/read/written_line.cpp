// A cursor goes through the line, field by field of the table; see the header.
#include "trace/read/written_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "trace/read/line_values.h"
#include "trace/record_fields.h"

namespace weft {
namespace {

// Where something is not as it should be nothing more is read, and fails() says so in the end.
class WrittenFields {
 public:
  explicit WrittenFields(std::string_view line) : left_(line) {}

  bool skip(std::string_view text) {
    if (!left_.starts_with(text)) return fail();
    left_.remove_prefix(text.size());
    return true;
  }
  bool fails() const { return failed_; }
  bool is_at_end() const { return !failed_ && left_.empty(); }

  void constant(const char* /*key*/, const char* /*text*/) { fail(); }
  template <std::integral Integer>
  void count(const char* key, Integer& value) {
    constexpr std::uint64_t most = std::numeric_limits<Integer>::max();
    whole(key, value, 0, std::min(most, std::uint64_t{highest_count}));
  }
  template <std::signed_integral Integer>
  void integer(const char* key, Integer& value) {
    whole(key, value, std::numeric_limits<Integer>::min(), std::uint64_t{std::numeric_limits<Integer>::max()});
  }
  void total(const char* /*key*/, auto& /*value*/) { fail(); }
  void time(const char* key, TimePoint& value) {
    Duration since_start{};
    length(key, since_start);
    value = TimePoint(since_start);
  }
  void begin_time(const char* key, TimePoint& value) {
    time(key, value);
    begin_ = value;
  }
  void end_time(const char* key, TimePoint& value) {
    time(key, value);
    if (value < begin_) fail();
  }
  void time_if(bool& known, const char* key, TimePoint& value) {
    known = true;
    if (is_null(key))
      known = false;
    else
      time(key, value);
  }
  void length(const char* key, Duration& value) {
    std::int64_t nanoseconds = 0;
    whole(key, nanoseconds, 0, std::uint64_t{latest_time});
    value = Duration(nanoseconds);
  }
  void needed_length(const char* key, Duration& value) { length(key, value); }
  void length_if(bool& known, const char* key, Duration& value) {
    known = !is_null(key);
    if (known) length(key, value);
  }
  void total_if(bool& /*known*/, const char* /*key*/, Duration& /*value*/) { fail(); }
  void offset_if(bool& /*known*/, const char* /*key*/, Duration& /*value*/) { fail(); }
  void share(const char* key, double& value) {
    constexpr double largest = 1e6;
    if (!begin(key)) return;
    const auto [end, error] =
        std::from_chars(left_.data(), left_.data() + left_.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || !(std::abs(value) <= largest) || !has_written_digits(end)) fail();
    if (!failed_) left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
  }
  void share_if(bool /*known*/, const char* key, double& value) {
    if (!is_null(key)) share(key, value);
  }
  void flag(const char* key, bool& value) {
    if (begin(key)) value = skip_one_of("true", "false");
  }
  void verdict(const char* key, std::int8_t& value) {
    if (!is_null(key) && begin(key)) value = skip_one_of("true", "false") ? 1 : 0;
  }
  template <std::size_t most>
  void text(const char* key, FixedText<most>& value) {
    const std::string_view found = text_of(key);
    if (found.size() <= most)
      value = found;
    else
      fail();
  }
  template <class Value>
  void choice(const char* key, const auto& names, Value& value) {
    const std::string_view name = text_of(key);
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end())
      fail();
    else
      value = static_cast<Value>(place - names.begin());
  }
  void hash(const char* key, std::uint64_t& bits) {
    if (is_null(key)) return;
    const std::string_view digits = text_of(key);
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, bits, 16);
    if (digits.size() != 16 || error != std::errc{} || stop != end) fail();
  }
  template <class Part>
  void object(const char* key, std::optional<Part>& value) {
    if (is_null(key) || !begin(key) || !skip("{")) return;
    is_first_ = true;
    visit_fields(*this, value.emplace());
    is_first_ = false;
    skip("}");
  }
  void list(const char* key, auto& values) {
    if (!begin(key) || !skip("[") || left_.starts_with(']')) {
      skip("]");
      return;
    }
    do {
      std::remove_reference_t<decltype(*values.begin())> value{};
      if (!skip("{")) return;
      is_first_ = true;
      visit_fields(*this, value);
      is_first_ = false;
      if (!skip("}")) return;
      if (!values.add(value)) fail();
    } while (!failed_ && left_.starts_with(", ") && skip(", "));
    skip("]");
  }
  void counts(const char* /*key*/, const auto& /*names*/, auto& /*values*/) { fail(); }

 private:
  bool fail() {
    failed_ = true;
    left_ = {};
    return false;
  }

  // Behind "key": , and a comma in front of it.
  bool begin(std::string_view key) {
    if (!is_first_ && !skip(", ")) return false;
    is_first_ = false;
    return skip("\"") && skip(key) && skip("\": ");
  }

  // Then the field is over.
  bool is_null(std::string_view key) {
    constexpr std::string_view null = "null";
    const std::size_t before = (is_first_ ? 1 : 3) + key.size() + 3;
    if (failed_ || left_.size() < before || left_.substr(before, null.size()) != null) return false;
    return begin(key) && skip(null);
  }

  bool skip_one_of(std::string_view first, std::string_view second) {
    if (left_.starts_with(first)) return skip(first);
    skip(second);
    return false;
  }

  template <class Integer>
  void whole(const char* key, Integer& value, std::int64_t least, std::uint64_t most) {
    if (!begin(key)) return;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    const bool is_padded =
        left_.size() > 1 && (left_.starts_with('0') || left_.starts_with("-0")) && end - left_.data() > 1;  // no JSON
    const bool fits = number >= least && (number < 0 || static_cast<std::uint64_t>(number) <= most);
    if (error != std::errc{} || is_padded || !fits) {
      fail();
      return;
    }
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    value = static_cast<Integer>(number);
  }

  // As the writer has them: "-0.012500". JSON has no "00.5", ".5" or "1.".
  bool has_written_digits(const char* end) const {
    std::string_view text(left_.data(), static_cast<std::size_t>(end - left_.data()));
    if (text.starts_with('-')) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    constexpr std::size_t decimals = 6;
    return point != std::string_view::npos && point > 0 && text.size() == point + 1 + decimals &&
           (point == 1 || text.front() != '0');
  }

  // Printable ASCII without escapes; "" where it is not.
  std::string_view text_of(std::string_view key) {
    if (!begin(key) || !skip("\"")) return "";
    const std::size_t end = left_.find('"');
    const std::string_view text = left_.substr(0, end);
    const bool is_plain = end != std::string_view::npos && std::ranges::all_of(text, [](char letter) {
                            return letter >= ' ' && letter <= '~' && letter != '\\';
                          });
    if (!is_plain) {
      fail();
      return "";
    }
    left_.remove_prefix(end + 1);
    return text;
  }

  std::string_view left_;
  bool failed_ = false, is_first_ = false;
  TimePoint begin_{};
};

template <class Type>
std::optional<Record> read_as(WrittenFields& fields) {
  Record record(0, TimePoint{}, Type{});
  visit_common_fields(fields, record);
  visit_kind(record, [&](auto& value) { visit_fields(fields, value); });
  fields.skip("}");
  if (!fields.is_at_end()) return std::nullopt;
  return record;
}

}  // namespace

std::optional<Record> read_written_record(std::string_view line) {
  WrittenFields fields(line);
  if (!fields.skip(R"({"type": ")")) return std::nullopt;
  const std::size_t begin = std::string_view(R"({"type": ")").size();
  const std::string_view type = line.substr(begin, line.find('"', begin) - begin);
#define RECORD(kind, Type)        \
  if (type == #kind) {            \
    fields.skip(#kind "\"");      \
    return read_as<Type>(fields); \
  }
#include "trace/record_kinds.def"
#undef RECORD
  return std::nullopt;
}

}  // namespace weft
