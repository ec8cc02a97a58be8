// Flags of the weft command whose values are quantities: they are read as those of Weft's options are.
//
// Used by the verbs that take such flags; the callbacks are CLI11's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/parse.h"
#include "runner/options/quantity.h"
#include "runner/policy/budget.h"

namespace weft::cli {

// As people write quantities elsewhere in Weft: `parse` gives nothing where the text is none, `wanted` says what is
// one.
template <class Target, class Parse>
CLI::callback_t quantity_into(Target& target, Parse parse, const char* wanted) {
  return [&target, parse, wanted](const CLI::results_t& texts) {
    const auto value = parse(texts.front());
    if (!value) throw CLI::ValidationError("'" + texts.front() + "' is no " + wanted);
    target = *value;
    return true;
  };
}
template <class Target>
CLI::callback_t duration_into(Target& target, const char* wanted = "duration; 10ms, 250us, 1.5s are") {
  return quantity_into(target, parse_duration, wanted);
}
inline CLI::callback_t bytes_into(std::uint64_t& target) {
  return quantity_into(target, parse_bytes, "number of bytes; 16MiB, 2GB are");
}
inline CLI::callback_t share_into(double& target) {
  return quantity_into(target, parse_share, "share in percent; 1, 0.5%, 2 % are");
}
inline std::optional<double> parse_rate(std::string_view text) {
  const std::optional<std::uint64_t> bytes = parse_bytes(text);
  return bytes && *bytes >= 1'000'000 ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}
inline CLI::callback_t rate_into(double& target) {
  return quantity_into(target, parse_rate, "rate from 1MB in a second; 50GB, 400GB are");
}
inline CLI::callback_t budget_into(double& target) {
  return [&target](const CLI::results_t& texts) {
    if (lower(texts.front()) == "off") return target = Budget::unlimited, true;
    const bool read = share_into(target)(texts);
    if (target > 1) throw CLI::ValidationError("'" + texts.front() + "' is more than 100 %");
    return read;
  };
}

// Of a core; "off" is none.
inline CLI::callback_t spin_into(double& target) {
  return [&target](const CLI::results_t& texts) {
    const bool read = budget_into(target)(texts);
    if (target > 1) target = 0;
    return read;
  };
}

}  // namespace weft::cli
