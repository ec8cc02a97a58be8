// Escaping and numbers; see the header.
#include "trace/write/json.h"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "trace/utf8.h"

namespace weft {
namespace {

void append_escaped(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    out += "\\u00";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  } else {
    out += c;
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0)
      out += '?';
    else if (length == 1)
      append_escaped(out, text.front());
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

template <class Integer>
void append_number(std::string& out, Integer value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  if (error == std::errc{}) out.append(digits, end);
}

}  // namespace

void JsonLine::begin(std::string_view key) {
  if (out_.back() != '{') out_ += ", ";
  append_string(out_, key);
  out_ += ": ";
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  begin(key);
  append_string(out_, value);
  return *this;
}

JsonLine& JsonLine::null(std::string_view key) {
  begin(key);
  out_ += "null";
  return *this;
}

JsonLine& JsonLine::flag(std::string_view key, bool value) {
  begin(key);
  out_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::open(std::string_view key) {
  begin(key);
  out_ += '{';
  return *this;
}

JsonLine& JsonLine::close() {
  out_ += '}';
  return *this;
}

JsonLine& JsonLine::open_list(std::string_view key) {
  begin(key);
  out_ += '[';
  return *this;
}

JsonLine& JsonLine::open_item() {
  if (out_.back() != '[') out_ += ", ";
  out_ += '{';
  return *this;
}

JsonLine& JsonLine::close_list() {
  out_ += ']';
  return *this;
}

JsonLine& JsonLine::signed_number(std::string_view key, std::int64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

JsonLine& JsonLine::unsigned_number(std::string_view key, std::uint64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, double value) {
  begin(key);
  char text[40];
  // The locale of the main job has no say in it.
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 6);
  out_.append(text, error == std::errc{} ? static_cast<std::size_t>(end - text) : 0);
  if (error != std::errc{}) out_ += "null";
  return *this;
}

}  // namespace weft
