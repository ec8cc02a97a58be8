// Key by key; see the header.
#include "trace/read/line_values.h"

#include <cmath>

#include "trace/read/printable.h"

namespace weft {
namespace {

std::string named(const char* key) {
  return "`" + std::string(key) + "`";
}

}  // namespace

void Doubts::add(std::uint64_t line, const std::string& why) {
  if (count_++ == 0) first_ = ":" + std::to_string(line) + ": " + why;
  if (line != last_line_) ++lines_;
  last_line_ = line;
}

void Doubts::add(const Doubts& others) {
  if (count_ == 0) first_ = others.first_;
  count_ += others.count_;
  lines_ += others.lines_;
  last_line_ = others.last_line_;
}

std::string Doubts::text(const std::string& file) const {
  const std::uint64_t more = lines_ - 1;
  return printable(file) + first_ +
         (more == 0 ? "" : " (and " + std::to_string(more) + " more such line" + (more == 1 ? ")" : "s)"));
}

const nlohmann::json* LineValues::find(const char* key) const {
  const auto found = line_.find(key);
  return found == line_.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t LineValues::integer(const char* key, std::int64_t absent) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return absent;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() ||
                     value->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (fits) return value->get<std::int64_t>();
  doubt(named(key) + " is not an integer of 64 bits");
  return absent;
}

std::uint64_t LineValues::count(const char* key) {
  const std::int64_t value = integer(key);
  if (value >= 0 && static_cast<std::uint64_t>(value) <= highest_count) return static_cast<std::uint64_t>(value);
  doubt(named(key) + " cannot be " + std::to_string(value));
  return 0;
}

Duration LineValues::time(const char* key) {
  const std::int64_t value = integer(key);
  if (value >= 0 && value <= latest_time) return Duration(value);
  doubt(named(key) + " cannot be " + std::to_string(value));
  return {};
}

Duration LineValues::needed_time(const char* key) {
  if (find(key) == nullptr) doubt(named(key) + " is missing");
  return time(key);
}

Duration LineValues::between(const char* begin, const char* end) {
  const Duration first = needed_time(begin), last = needed_time(end);
  if (sound() && last < first) doubt(named(end) + " is before " + named(begin));
  return sound() ? last - first : Duration{};
}

double LineValues::fraction(const char* key, double absent) {
  constexpr double largest = 1e6;  // iterations that take a million times as long
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return absent;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (std::abs(number) <= largest) return number;
  doubt(named(key) + " is not a share");
  return absent;
}

std::string LineValues::text(const char* key) const {
  const nlohmann::json* const value = find(key);
  return value != nullptr && value->is_string() ? shortened(value->get_ref<const std::string&>(), most_text_bytes) : "";
}

bool LineValues::is(const char* key, bool wanted) const {
  const nlohmann::json* const value = find(key);
  return value != nullptr && value->is_boolean() && value->get<bool>() == wanted;
}

}  // namespace weft
