// The options of Weft as typed values, from the WEFT variables of the environment. The table is
// runner/options/options.def.
//
// Used by the core, once, when it starts (a main-job thread), and by the weft command. Nothing is printed or changed
// here: what is wrong with a variable comes back as a line of text, and its default is used. No iostream: the core
// carries its own C++ library, and that one must stay small.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detector/time.h"
#include "runner/log.h"
#include "runner/options/confine.h"
#include "runner/options/fillable.h"
#include "runner/options/variables.h"
#include "runner/policy/jobs.h"

namespace weft {

enum class Mode : std::uint8_t { off, observe, fill };

// A number of bytes that something may have, or "off": any.
struct ByteLimit {
  static constexpr std::uint64_t off = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = off;
  auto operator<=>(const ByteLimit&) const = default;
};

// The C++ type behind each type name of the table.
namespace option_type {
using Mode = weft::Mode;
using OneQueue = weft::OneQueue;
using Confine = weft::Confine;
using Policy = JobPolicy;
using Text = std::string;
using Path = std::string;  // with % sequences: see runner/options/output_path.h
using Bytes = std::uint64_t;
using Limit = ByteLimit;
using Duration = weft::Duration;
using Percent = double;  // as a share: 0.01 for "1%"; infinity for "off"
using Count = std::uint32_t;
using Flag = bool;
using Level = LogLevel;
}  // namespace option_type

// As the variables say; a default-constructed one is empty, not the defaults: those come from parse_options().
struct Options {
#define OPTION(field, type, standing, variable, fallback, least, most, help) option_type::type field{};
#include "runner/options/options.def"
#undef OPTION
};

// How far an option can be relied on: stable ones keep their name and meaning; advanced ones tune, and may change with
// any release; internal ones pass between parts of Weft.
enum class Standing : std::uint8_t { stable, advanced, internal };
const char* name_of(Standing) noexcept;

// One line of the table.
struct OptionInfo {
  const char* name;
  const char* type;
  Standing standing;
  const char* variable;
  const char* fallback;
  const char* least;  // and `most`: "" for types without an order
  const char* most;
  const char* help;
  std::string (*accepted)(const OptionInfo&);  // see accepted_values()
};
std::span<const OptionInfo> option_table();
// As in "a duration from 10us to 100ms".
std::string accepted_values(const OptionInfo& option);

enum class Source : std::uint8_t { built_in, environment, implied, implied_by_queue };
const char* name_of(Source) noexcept;

struct OptionValue {
  const OptionInfo* option = nullptr;
  std::string text;  // of the value in force
  Source source = Source::built_in;
};

struct ParsedOptions {
  Options options;
  std::vector<OptionValue> values;    // in the order of the table
  std::vector<std::string> warnings;  // one line each: a mistake, and what is used instead
  std::vector<std::string> mistakes;  // the same without what is used, for who uses nothing then
};

// A variable that is set to nothing counts as not set.
ParsedOptions parse_options(const Variables& variables);

}  // namespace weft
