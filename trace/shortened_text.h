// A text of any length for a record: one that a record has no room for says that it goes on, as half a path would name
// another folder.
//
// Any thread. No allocation.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/fixed_text.h"

namespace weft {

inline RecordText shortened(std::string_view text) {
  constexpr std::string_view goes_on = " ...";
  if (text.size() <= RecordText::capacity) return text;
  std::array<char, RecordText::capacity> bytes{};
  const auto end = std::copy_n(text.begin(), bytes.size() - goes_on.size(), bytes.begin());
  std::copy(goes_on.begin(), goes_on.end(), end);
  return std::string_view(bytes.data(), bytes.size());
}

}  // namespace weft
