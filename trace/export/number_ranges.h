// Ranks and iterations as people write them: "7", "100-110", "0,4-7".
//
// Used by `weft export`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// From a number to another one, both included.
struct NumberRange {
  std::int64_t first = 0, last = 0;
  bool contains(std::int64_t number) const { return first <= number && number <= last; }
  bool contains_count(std::uint64_t number) const {
    return std::in_range<std::int64_t>(number) && contains(static_cast<std::int64_t>(number));
  }
};

// Nothing: the text is none.
std::optional<NumberRange> parse_number_range(std::string_view text);
std::optional<std::vector<NumberRange>> parse_number_ranges(std::string_view text);

}  // namespace weft
