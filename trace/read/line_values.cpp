// Key by key; see the header.
#include "trace/read/line_values.h"

#include <charconv>
#include <cmath>

#include "trace/read/printable.h"

namespace weft {

void Doubts::add(std::uint64_t line, const std::string& why) {
  if (count_++ == 0) first_ = ":" + std::to_string(line) + ": " + why;
  if (line != last_line_) ++lines_;
  last_line_ = line;
}

void Doubts::add(const Doubts& others) {
  if (others.count_ == 0) return;
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

std::string LineValues::named(const char* key) {
  return "`" + std::string(key) + "`";
}

const nlohmann::json* LineValues::find(const char* key) const {
  const auto found = line_.find(key);
  return found == line_.end() || found->is_null() ? nullptr : &*found;
}

const nlohmann::json* LineValues::object_of(const char* key) const {
  const nlohmann::json* const value = find(key);
  return value != nullptr && value->is_object() ? value : nullptr;
}

std::string_view LineValues::text_of(const char* key) const {
  const nlohmann::json* const value = find(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_ref<const std::string&>()) : "";
}

bool LineValues::need(const char* key) {
  if (find(key) != nullptr) return true;
  doubt(named(key) + " is missing");
  return false;
}

std::optional<std::int64_t> LineValues::whole_of(const char* key, std::int64_t least, std::uint64_t most) {
  const nlohmann::json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() ||
                     value->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) {
    doubt(named(key) + " is not an integer of 64 bits");
    return std::nullopt;
  }
  const auto number = value->get<std::int64_t>();
  if (number >= least && (number < 0 || static_cast<std::uint64_t>(number) <= most)) return number;
  doubt(named(key) + " cannot be " + std::to_string(number));
  return std::nullopt;
}

void LineValues::length(const char* key, Duration& value) {
  if (const auto found = whole_of(key, 0, std::uint64_t{latest_time})) value = Duration(*found);
}

void LineValues::needed_length(const char* key, Duration& value) {
  if (need(key)) length(key, value);
}

void LineValues::length_if(bool& known, const char* key, Duration& value) {
  const auto found = line_.find(key);
  known = found == line_.end() ? known : !found->is_null();
  length(key, value);
}

void LineValues::time_if(bool& known, const char* key, TimePoint& value) {
  Duration since_start = value.time_since_epoch();
  length_if(known, key, since_start);
  value = TimePoint(since_start);
}

void LineValues::offset_if(bool& known, const char* key, Duration& value) {
  const auto found = line_.find(key);
  known = found == line_.end() ? known : !found->is_null();
  if (const auto offset = whole_of(key, -latest_time, std::uint64_t{latest_time})) value = Duration(*offset);
}

void LineValues::time(const char* key, TimePoint& value) {
  Duration since_start = value.time_since_epoch();
  length(key, since_start);
  value = TimePoint(since_start);
}

void LineValues::begin_time(const char* key, TimePoint& value) {
  const std::uint64_t before = doubts_.count();
  if (need(key)) time(key, value);
  begin_key_ = doubts_.count() == before ? key : nullptr;
  begin_ = value;
}

void LineValues::end_time(const char* key, TimePoint& value) {
  const std::uint64_t before = doubts_.count();
  if (need(key)) time(key, value);
  if (doubts_.count() == before && begin_key_ != nullptr && value < begin_)
    doubt(named(key) + " is before " + named(begin_key_));
}

void LineValues::share(const char* key, double& value) {
  constexpr double largest = 1e6;  // iterations that take a million times as long
  const nlohmann::json* const found = find(key);
  if (found == nullptr) return;
  const double number = found->is_number() ? found->get<double>() : std::nan("");
  if (std::abs(number) <= largest)
    value = number;
  else
    doubt(named(key) + " is not a share");
}

void LineValues::flag(const char* key, bool& value) {
  const nlohmann::json* const found = find(key);
  if (found != nullptr && found->is_boolean()) value = found->get<bool>();
}

void LineValues::verdict(const char* key, std::int8_t& value) {
  const nlohmann::json* const found = find(key);
  if (found != nullptr && found->is_boolean()) value = found->get<bool>() ? 1 : 0;
}

// Of a text that is too long it shows that something was cut off.
void LineValues::hash(const char* key, std::uint64_t& bits) {
  if (find(key) == nullptr) return;
  const std::string_view found = text_of(key);
  const char* const end = found.data() + found.size();
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(found.data(), end, value, 16);
  if (error == std::errc{} && stop == end)
    bits = value;
  else
    doubt(named(key) + " is not a hash of 64 bits");
}

}  // namespace weft
