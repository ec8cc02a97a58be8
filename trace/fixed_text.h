// A text of bounded length inside a record: it is copied with the record and needs no memory of its own.
//
// Any thread. Bytes are kept as they are, a zero among them as well. Longer text is cut behind a whole character of
// UTF-8 and says that it goes on, as half a path would name another folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

template <std::size_t most>
class FixedText {
 public:
  static constexpr std::size_t capacity = most;

  FixedText() = default;
  FixedText(std::string_view text) { *this = text; }
  FixedText& operator=(std::string_view text) {
    const bool is_whole = text.size() <= most;
    if (!is_whole) text = text.substr(0, whole_characters(text, most - goes_on.size()));
    const auto end = std::copy(text.begin(), text.end(), bytes_.begin());
    size_ = static_cast<std::uint16_t>(text.size() + (is_whole ? 0 : goes_on.size()));
    if (!is_whole) std::copy(goes_on.begin(), goes_on.end(), end);
    std::fill(bytes_.begin() + size_, bytes_.end(), '\0');
    return *this;
  }
  operator std::string_view() const { return {bytes_.data(), size_}; }
  const char* c_str() const { return bytes_.data(); }
  bool empty() const { return size_ == 0; }

  friend bool operator==(const FixedText&, const FixedText&) = default;
  friend bool operator==(const FixedText& left, std::string_view right) { return std::string_view(left) == right; }

 private:
  static constexpr std::string_view goes_on = " ...";
  static_assert(most > goes_on.size());

  // The bytes of those that end before `size`; all of them where the text is none of UTF-8.
  static std::size_t whole_characters(std::string_view text, std::size_t size) {
    constexpr std::size_t longest = 4;
    for (std::size_t end = size; end > 0 && size - end < longest; --end)
      if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) return end;
    return size;
  }

  std::array<char, most + 1> bytes_{};
  std::uint16_t size_ = 0;
};

using RecordText = FixedText<255>;

}  // namespace weft
