// Numbers with a unit, as people write them: "64MiB", "300us", "1.5 %", "12". None of them is negative.
//
// Used by the option parser, at the start of the core (a main-job thread) and in the weft command. Pure; a text that is
// not such a number gives nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "detector/time.h"

namespace weft {

std::string lower(std::string_view text);

std::optional<std::uint64_t> parse_bytes(std::string_view text);  // B, KiB ... TiB, kB ... TB; without a unit: bytes
std::optional<Duration> parse_duration(std::string_view text);    // ns, us, ms, s; without a unit only 0
std::optional<double> parse_share(std::string_view text);         // 0.01 for "1 %" and for "1"
std::optional<std::uint32_t> parse_count(std::string_view text);

std::string mebibytes(std::uint64_t bytes);  // "64 MiB", rounded down

}  // namespace weft
