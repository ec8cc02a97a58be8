// A text of bounded length in memory that processes share: whoever reads it believes no end but its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace weft {

template <std::size_t size>
struct ChannelText {
  std::array<char, size> bytes{};
  // Cut where it is too long.
  void set(std::string_view text) {
    const std::size_t count = std::min(text.size(), size - 1);
    std::memcpy(bytes.data(), text.data(), count);
    bytes[count] = '\0';
  }
  std::string get() const { return {bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0')}; }
};

}  // namespace weft
