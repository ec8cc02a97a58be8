// See quantity.h.
#include "runner/options/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace weft {
namespace {

struct Suffix {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::uint64_t kibi = 1024;
constexpr std::array byte_suffixes{Suffix{"", 1},
                                   Suffix{"b", 1},
                                   Suffix{"kib", kibi},
                                   Suffix{"mib", kibi* kibi},
                                   Suffix{"gib", kibi* kibi* kibi},
                                   Suffix{"tib", kibi* kibi* kibi* kibi},
                                   Suffix{"kb", 1'000},
                                   Suffix{"mb", 1'000'000},
                                   Suffix{"gb", 1'000'000'000},
                                   Suffix{"tb", 1'000'000'000'000}};
constexpr std::array time_suffixes{Suffix{"ns", 1}, Suffix{"us", 1'000}, Suffix{"ms", 1'000'000},
                                   Suffix{"s", 1'000'000'000}};

// A number and its unit, in the smallest unit; not negative.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Suffix> suffixes) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string name = lower(text.substr(digits));
  const auto suffix =
      std::find_if(suffixes.begin(), suffixes.end(), [&](const Suffix& known) { return known.name == name; });
  if (digits == 0 || (suffix == suffixes.end() && text != "0")) return std::nullopt;
  const std::uint64_t factor = suffix == suffixes.end() ? 1 : suffix->factor;
  const char* const end = text.data() + digits;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (text.substr(0, digits).find('.') == std::string_view::npos) {
    std::uint64_t whole = 0, product = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, whole);
    if (error != std::errc{} || stop != end || __builtin_mul_overflow(whole, factor, &product) || product > most)
      return std::nullopt;
    return product;
  }
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const double product = number * static_cast<double>(factor);
  if (error != std::errc{} || stop != end || product > static_cast<double>(most / 2)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(product));
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  return parse_quantity(text, byte_suffixes);
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto quantity = parse_quantity(text, time_suffixes);
  if (!quantity) return std::nullopt;
  return Duration(static_cast<std::int64_t>(*quantity));
}

std::optional<double> parse_share(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  if (error != std::errc{} || stop != text.data() + text.size() || !std::isfinite(percent) || percent < 0)
    return std::nullopt;
  return percent / 100;
}

std::optional<std::uint32_t> parse_count(std::string_view text) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace weft
