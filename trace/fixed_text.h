// A text of bounded length inside a record: it is copied with the record and needs no memory of its own.
//
// Any thread. Bytes are kept as they are, a zero among them as well. A text that is too long ends with " ..." behind
// its last whole character: half a path, without a word, would name another folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// So many of the first `size` bytes of a longer text are whole characters of UTF-8; all where none begins in the last
// four.
inline std::size_t whole_characters(std::string_view text, std::size_t size) {
  constexpr std::size_t longest = 4;
  for (std::size_t end = size; end > 0 && size - end < longest; --end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) return end;
  return size;
}

// The size of the text in `to`, where it has `room` bytes, more than 4.
inline std::size_t put_text(char* to, std::size_t room, std::string_view text) {
  constexpr std::string_view goes_on = " ...";
  const bool is_whole = text.size() <= room;
  if (!is_whole) text = text.substr(0, whole_characters(text, room - goes_on.size()));
  char* end = std::copy(text.begin(), text.end(), to);
  if (!is_whole) end = std::copy(goes_on.begin(), goes_on.end(), end);
  return static_cast<std::size_t>(end - to);
}

template <std::size_t most>
class FixedText {
 public:
  static constexpr std::size_t capacity = most;

  FixedText() = default;
  FixedText(std::string_view text) { *this = text; }
  FixedText& operator=(std::string_view text) {
    size_ = static_cast<std::uint16_t>(put_text(bytes_.data(), most, text));
    std::fill(bytes_.begin() + size_, bytes_.end(), '\0');
    return *this;
  }
  operator std::string_view() const { return {bytes_.data(), size_}; }
  const char* c_str() const { return bytes_.data(); }
  bool empty() const { return size_ == 0; }

  friend bool operator==(const FixedText&, const FixedText&) = default;
  friend bool operator==(const FixedText& left, std::string_view right) { return std::string_view(left) == right; }

 private:
  std::array<char, most + 1> bytes_{};
  std::uint16_t size_ = 0;
};

using RecordText = FixedText<255>;

}  // namespace weft
