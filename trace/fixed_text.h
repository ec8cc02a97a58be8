// A text of bounded length inside a record: it is copied with the record and needs no memory of its own.
//
// Any thread. Longer text is cut off; bytes are kept as they are, a zero among them as well.
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
    text = text.substr(0, most);
    size_ = static_cast<std::uint16_t>(text.size());
    std::copy(text.begin(), text.end(), bytes_.begin());
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
