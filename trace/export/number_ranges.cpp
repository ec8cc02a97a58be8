// See number_ranges.h.
#include "trace/export/number_ranges.h"

#include <charconv>
#include <system_error>

namespace weft {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<NumberRange> parse_number_range(std::string_view text) {
  const std::size_t hyphen = text.find('-');
  const std::optional<std::int64_t> first = whole_number(text.substr(0, hyphen));
  const std::optional<std::int64_t> last =
      hyphen == std::string_view::npos ? first : whole_number(text.substr(hyphen + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return NumberRange{*first, *last};
}

std::optional<std::vector<NumberRange>> parse_number_ranges(std::string_view text) {
  std::vector<NumberRange> ranges;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::optional<NumberRange> range = parse_number_range(text.substr(0, comma));
    if (!range) return std::nullopt;
    ranges.push_back(*range);
    if (comma == std::string_view::npos) return ranges;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft
