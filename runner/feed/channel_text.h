// A text of bounded length in memory that processes share: whoever reads it believes no end but its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "trace/fixed_text.h"

namespace weft {

template <std::size_t size>
struct ChannelText {
  std::array<char, size> bytes{};
  void set(std::string_view text) { bytes[put_text(bytes.data(), size - 1, text)] = '\0'; }
  std::string get() const { return {bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0')}; }
};

}  // namespace weft
