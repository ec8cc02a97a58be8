// From text to options; see the header.
#include "runner/options/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "runner/options/accepted_words.h"
#include "runner/options/nearest.h"
#include "runner/options/output_path.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

// The words of each type that has a fixed set of them.
template <class Value>
using Words = std::span<const std::pair<std::string_view, Value>>;
constexpr std::pair<std::string_view, Mode> mode_words[] = {
    {"off", Mode::off}, {"observe", Mode::observe}, {"fill", Mode::fill}};
constexpr std::pair<std::string_view, OneQueue> one_queue_words[] = {{one_queue_names[0], OneQueue::keep},
                                                                     {one_queue_names[1], OneQueue::above}};
constexpr std::pair<std::string_view, Confine> confine_words[] = {{confine_names[0], Confine::automatic},
                                                                  {confine_names[1], Confine::job},
                                                                  {confine_names[2], Confine::green},
                                                                  {confine_names[3], Confine::none}};
constexpr std::pair<std::string_view, JobPolicy> policy_words[] = {{job_policy_names[0], JobPolicy::throughput},
                                                                   {job_policy_names[1], JobPolicy::priority},
                                                                   {job_policy_names[2], JobPolicy::fair},
                                                                   {job_policy_names[3], JobPolicy::deadline},
                                                                   {job_policy_names[4], JobPolicy::shortest}};
constexpr std::pair<std::string_view, bool> flag_words[] = {{"on", true},  {"off", false}, {"yes", true},
                                                            {"no", false}, {"true", true}, {"false", false},
                                                            {"1", true},   {"0", false}};
constexpr std::pair<std::string_view, LogLevel> level_words[] = {
    {"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}, {"off", LogLevel::off}};

template <class Value>
bool choose(std::string_view text, Words<Value> words, Value& value) {
  const std::string wanted = lower(text);
  for (const auto& [word, meaning] : words) {
    if (word != wanted) continue;
    value = meaning;
    return true;
  }
  return false;
}

// Those of a type; none where it has no fixed set.
template <class Value>
constexpr Words<Value> words_of{};
template <>
constexpr Words<Mode> words_of<Mode> = mode_words;
template <>
constexpr Words<OneQueue> words_of<OneQueue> = one_queue_words;
template <>
constexpr Words<Confine> words_of<Confine> = confine_words;
template <>
constexpr Words<JobPolicy> words_of<JobPolicy> = policy_words;
template <>
constexpr Words<bool> words_of<bool> = flag_words;
template <>
constexpr Words<LogLevel> words_of<LogLevel> = level_words;

template <class Value>
std::vector<std::string_view> words() {
  std::vector<std::string_view> list;
  for (const auto& [word, meaning] : words_of<Value>) list.push_back(word);
  return list;
}

std::string ranged(const char* kind, const OptionInfo& option, const char* also = "") {
  return std::string(kind) + " from " + option.least + " to " + option.most + also;
}

// How the values of each type are described.
template <class Value>
std::string accepted(const OptionInfo&) {
  std::string list = "one of ";
  for (const std::string_view word : words<Value>()) list += (list.ends_with("of ") ? "" : ", ") + std::string(word);
  return list;
}
template <>
std::string accepted<std::string>(const OptionInfo&) {
  return "a text";
}
template <>
std::string accepted<std::uint64_t>(const OptionInfo& option) {
  return ranged("a size", option);
}
template <>
std::string accepted<ByteLimit>(const OptionInfo& option) {
  return ranged("a size", option, ", or off");
}
template <>
std::string accepted<Duration>(const OptionInfo& option) {
  return ranged("a duration", option);
}
template <>
std::string accepted<double>(const OptionInfo& option) {
  return ranged("a percentage", option, ", or off");
}
template <>
std::string accepted<std::uint32_t>(const OptionInfo& option) {
  return ranged("a number", option);
}

constexpr std::array table{
#define OPTION(field, type, standing, variable, fallback, least, most, help) \
  OptionInfo{                                                                \
      #field, #type, Standing::standing, variable, fallback, least, most, help, &accepted<decltype(Options::field)>},
#include "runner/options/options.def"
#undef OPTION
};

constexpr std::array word_lists{
#define OPTION(field, type, standing, variable, fallback, least, most, help) &words<decltype(Options::field)>,
#include "runner/options/options.def"
#undef OPTION
};

template <class Value>
bool take(const std::optional<Value>& parsed, Value& value) {
  value = parsed.value_or(Value{});
  return parsed.has_value();
}

bool parse(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool parse(std::string_view text, std::uint64_t& value) {
  return take(parse_bytes(text), value);
}

bool parse(std::string_view text, ByteLimit& value) {
  value.bytes = ByteLimit::off;
  return lower(text) == "off" || parse(text, value.bytes);
}

bool parse(std::string_view text, Duration& value) {
  return take(parse_duration(text), value);
}

bool parse(std::string_view text, double& value) {
  value = std::numeric_limits<double>::infinity();
  return lower(text) == "off" || take(parse_share(text), value);
}

bool parse(std::string_view text, std::uint32_t& value) {
  return take(parse_count(text), value);
}

bool parse(std::string_view text, bool& value) {
  return choose<bool>(text, words_of<bool>, value);
}

bool parse(std::string_view text, Mode& value) {
  return choose<Mode>(text, words_of<Mode>, value);
}

bool parse(std::string_view text, JobPolicy& value) {
  return choose<JobPolicy>(text, words_of<JobPolicy>, value);
}

bool parse(std::string_view text, Confine& value) {
  return choose<Confine>(text, words_of<Confine>, value);
}

bool parse(std::string_view text, OneQueue& value) {
  return choose<OneQueue>(text, words_of<OneQueue>, value);
}

bool parse(std::string_view text, LogLevel& value) {
  return choose<LogLevel>(text, words_of<LogLevel>, value);
}

const std::string* given(const OptionInfo& option, const Variables& variables) {
  const auto found = variables.find(option.variable);
  return found == variables.end() || found->second.empty() ? nullptr : &found->second;
}

bool is_unlimited(double value) {
  return std::isinf(value);
}
bool is_unlimited(ByteLimit value) {
  return value.bytes == ByteLimit::off;
}
bool is_unlimited(auto) {
  return false;
}

template <class Value>
bool within_bounds(const OptionInfo& option, const Value& value) {
  if (option.least[0] == '\0') return true;
  Value least{}, most{};
  return parse(option.least, least) && parse(option.most, most) &&
         ((least <= value && value <= most) || is_unlimited(value));
}

// Units with which people write values of a type; none for types without.
template <class Value>
std::span<const char* const> usual_units() {
  static constexpr const char* sizes[] = {"MiB", "GiB"};
  static constexpr const char* durations[] = {"us", "ms", "s"};
  if constexpr (std::is_same_v<Value, Duration>) return durations;
  if constexpr (std::is_same_v<Value, std::uint64_t> || std::is_same_v<Value, ByteLimit>) return sizes;
  return {};
}

// Where a bare number would do with a unit: so much, with an example that does. Else nothing.
template <class Value>
std::string missing_unit(const OptionInfo& option, const std::string& text) {
  if (text.find_first_not_of("0123456789.") != std::string::npos) return "";
  for (const char* const unit : usual_units<Value>()) {
    Value value{};
    if (parse(text + unit, value) && within_bounds(option, value)) return ": its unit is missing, as in " + text + unit;
  }
  return "";
}

bool is_path(const OptionInfo& option) {
  return option.type == std::string_view("Path");
}

// Of a path: the first variable that it needs and that is not set; "": none. Without its value the rest may be a folder
// of the root.
std::string missing_variable(const std::string& path, const Variables& variables) {
  for (const std::string& name : sequences_in(path).variables) {
    const auto found = variables.find(name);
    if (found == variables.end() || found->second.empty()) return name;
  }
  return "";
}

// Why the value cannot be used; "": it can.
template <class Value>
std::string mistake_in(const std::string& text, const OptionInfo& option, const Variables& variables, Value& value) {
  if (!parse(text, value) || !within_bounds(option, value))
    return " is not " + accepted_values(option) + missing_unit<Value>(option, text);
  const std::string missing = is_path(option) ? missing_variable(text, variables) : "";
  return missing.empty() ? "" : " needs " + missing + ", which is unset or empty";
}

void report(ParsedOptions& parsed, const std::string& mistake, const std::string& consequence) {
  parsed.mistakes.push_back(mistake);
  parsed.warnings.push_back(mistake + consequence);
}

template <class Value>
void read_option(const OptionInfo& option, const Variables& variables, Value& value, ParsedOptions& parsed) {
  OptionValue result{&option, option.fallback, Source::built_in};
  if (const std::string* const text = given(option, variables)) {
    const std::string setting = std::string(option.variable) + "=" + *text;
    const std::string mistake = mistake_in(*text, option, variables, value);
    const std::string unknown = is_path(option) ? sequences_in(*text).unknown : "";
    if (mistake.empty()) {
      result.text = *text;
      result.source = Source::environment;
    } else {
      const std::string fallback = option.fallback;
      report(parsed, setting + mistake,
             fallback.empty() ? "; it counts as not set" : "; the default " + fallback + " is used");
    }
    if (mistake.empty() && !unknown.empty())
      report(parsed, setting + " has " + unknown + ", which stands for nothing (%% is a percent sign)",
             "; it stays in the name");
  }
  if (result.source == Source::built_in) parse(option.fallback, value);
  parsed.values.push_back(std::move(result));
}

// By its flag: WEFT_MODE, for --mode.
bool is_named_like(std::string_view name, const OptionInfo& option) {
  return lower(name) == std::string("weft_") + option.name;
}

// The part behind WEFT_ is what people mistake.
std::string unknown_variable(std::string_view name) {
  constexpr std::string_view prefix = "WEFT_";
  const std::string text = std::string(name) + " is not an option of Weft";
  std::vector<std::string> variables;
  for (const OptionInfo& option : table) {
    if (is_named_like(name, option)) return text + did_you_mean(option.variable);
    if (std::string_view(option.variable).starts_with(prefix)) variables.emplace_back(option.variable + prefix.size());
  }
  std::optional<std::string> meant = nearest(name.substr(prefix.size()), variables);
  if (!meant) return text + "; 'weft config' lists them";
  return text + did_you_mean(meant->insert(0, prefix));
}

bool is_option(std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const OptionInfo& option) { return name == option.variable; });
}

}  // namespace

std::span<const OptionInfo> option_table() {
  return table;
}

std::string accepted_values(const OptionInfo& option) {
  return option.accepted(option);
}

std::vector<std::string_view> accepted_words(const OptionInfo& option) {
  return word_lists[static_cast<std::size_t>(&option - table.data())]();
}

const char* name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::stable:
      return "stable";
    case Standing::advanced:
      return "advanced";
    case Standing::internal:
      break;
  }
  return "internal";
}

const char* name_of(Source source) noexcept {
  switch (source) {
    case Source::built_in:
      return "default";
    case Source::environment:
      return "environment";
    case Source::implied:
      return "implied by WEFT_FILL";
    case Source::implied_by_queue:
      return "implied by WEFT_QUEUE";
  }
  return "default";
}

ParsedOptions parse_options(const Variables& variables) {
  ParsedOptions parsed;
  std::size_t line = 0;
#define OPTION(field, type, standing, variable, fallback, least, most, help) \
  read_option(table[line++], variables, parsed.options.field, parsed);
#include "runner/options/options.def"
#undef OPTION
  OptionValue& mode = parsed.values.front();
  const bool has_job = !parsed.options.fill.empty();
  if ((has_job || !parsed.options.queue.empty()) && given(*mode.option, variables) == nullptr) {
    parsed.options.mode = Mode::fill;
    mode.text = "fill";
    mode.source = has_job ? Source::implied : Source::implied_by_queue;
  }
  for (auto entry = variables.lower_bound("WEFT"); entry != variables.end() && entry->first.starts_with("WEFT");
       ++entry)
    if (entry->first.starts_with("WEFT_") && !is_option(entry->first))
      report(parsed, unknown_variable(entry->first), "");
  return parsed;
}

}  // namespace weft
