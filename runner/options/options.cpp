// From text to options; see the header.
#include "runner/options/options.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace weft {
namespace {

constexpr std::array table{
#define OPTION(field, type, variable, fallback, least, most, help) \
  OptionInfo{#field, #type, variable, fallback, least, most, help},
#include "runner/options/options.def"
#undef OPTION
};

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::uint64_t kibi = 1024;
constexpr std::array byte_units{Unit{"", 1},
                                Unit{"b", 1},
                                Unit{"kib", kibi},
                                Unit{"mib", kibi* kibi},
                                Unit{"gib", kibi* kibi* kibi},
                                Unit{"tib", kibi* kibi* kibi* kibi},
                                Unit{"kb", 1'000},
                                Unit{"mb", 1'000'000},
                                Unit{"gb", 1'000'000'000},
                                Unit{"tb", 1'000'000'000'000}};
constexpr std::array time_units{Unit{"ns", 1}, Unit{"us", 1'000}, Unit{"ms", 1'000'000}, Unit{"s", 1'000'000'000}};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// A number and its unit, in the smallest unit; not negative.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string name = lower(text.substr(digits));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  if (digits == 0 || (unit == units.end() && text != "0")) return std::nullopt;
  const std::uint64_t factor = unit == units.end() ? 1 : unit->factor;
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

bool parse(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool parse(std::string_view text, std::uint64_t& value) {
  const auto quantity = parse_quantity(text, byte_units);
  value = quantity.value_or(0);
  return quantity.has_value();
}

bool parse(std::string_view text, ByteLimit& value) {
  if (lower(text) == "off") {
    value.bytes = ByteLimit::off;
    return true;
  }
  return parse(text, value.bytes);
}

bool parse(std::string_view text, Duration& value) {
  const auto quantity = parse_quantity(text, time_units);
  value = Duration(static_cast<std::int64_t>(quantity.value_or(0)));
  return quantity.has_value();
}

bool parse(std::string_view text, double& value) {
  if (lower(text) == "off") {
    value = std::numeric_limits<double>::infinity();
    return true;
  }
  if (text.ends_with('%')) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  value = percent / 100;
  return error == std::errc{} && stop == text.data() + text.size() && std::isfinite(percent) && percent >= 0;
}

bool parse(std::string_view text, std::uint32_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size();
}

template <class Value, std::size_t count>
bool choose(std::string_view text, const std::array<std::pair<std::string_view, Value>, count>& names, Value& value) {
  const std::string wanted = lower(text);
  for (const auto& [name, meaning] : names) {
    if (name != wanted) continue;
    value = meaning;
    return true;
  }
  return false;
}

bool parse(std::string_view text, bool& value) {
  static constexpr std::array<std::pair<std::string_view, bool>, 8> names{{{"1", true},
                                                                           {"true", true},
                                                                           {"yes", true},
                                                                           {"on", true},
                                                                           {"0", false},
                                                                           {"false", false},
                                                                           {"no", false},
                                                                           {"off", false}}};
  return choose(text, names, value);
}

bool parse(std::string_view text, Mode& value) {
  static constexpr std::array<std::pair<std::string_view, Mode>, 3> names{
      {{"off", Mode::off}, {"observe", Mode::observe}, {"fill", Mode::fill}}};
  return choose(text, names, value);
}

bool parse(std::string_view text, LogLevel& value) {
  static constexpr std::array<std::pair<std::string_view, LogLevel>, 4> names{
      {{"info", LogLevel::info}, {"warn", LogLevel::warn}, {"error", LogLevel::error}, {"off", LogLevel::off}}};
  return choose(text, names, value);
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

template <class Value>
void read_option(const OptionInfo& option, const Variables& variables, Value& value, ParsedOptions& parsed) {
  OptionValue result{&option, option.fallback, Source::built_in};
  if (const std::string* const text = given(option, variables)) {
    if (parse(*text, value) && within_bounds(option, value)) {
      result.text = *text;
      result.source = Source::environment;
    } else {
      parsed.warnings.push_back(std::string(option.variable) + "=" + *text + " is not " + accepted_values(option) +
                                "; the default " + option.fallback + " is used");
    }
  }
  if (result.source == Source::built_in) parse(option.fallback, value);
  parsed.values.push_back(std::move(result));
}

// Levenshtein's distance; the names are short.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string unknown_variable(std::string_view name) {
  const OptionInfo* nearest = nullptr;
  std::size_t least = 4;
  for (const OptionInfo& option : table) {
    const std::size_t distance = edit_distance(name, option.variable);
    if (distance >= least) continue;
    least = distance;
    nearest = &option;
  }
  const std::string text = std::string(name) + " is not an option of Weft";
  if (nearest == nullptr) return text + "; 'weft config' lists them";
  return text + "; did you mean " + nearest->variable + "?";
}

bool is_option(std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const OptionInfo& option) { return name == option.variable; });
}

// Names that launchers give to the rank of a process and to the number of processes.
struct LauncherNames {
  const char* rank;
  const char* ranks;  // nullptr: it says nothing of it
};
constexpr std::array launchers{LauncherNames{"RANK", "WORLD_SIZE"},
                               LauncherNames{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                               LauncherNames{"PMIX_RANK", nullptr},
                               LauncherNames{"PMI_RANK", "PMI_SIZE"},
                               LauncherNames{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                               LauncherNames{"SLURM_PROCID", "SLURM_NTASKS"}};

std::optional<int> number_in(const Variables& variables, const char* name) {
  const auto found = name == nullptr ? variables.end() : variables.find(name);
  std::uint32_t value = 0;
  if (found == variables.end() || !parse(found->second, value) || value > std::numeric_limits<int>::max())
    return std::nullopt;
  return static_cast<int>(value);
}

const LauncherNames* launcher_of(const Variables& variables) {
  for (const LauncherNames& launcher : launchers)
    if (number_in(variables, launcher.rank)) return &launcher;
  return nullptr;
}

// The % sequence that `pattern` begins with, else its first character.
std::string_view leading_sequence(std::string_view pattern) {
  if (pattern.front() != '%') return pattern.substr(0, 1);
  const std::size_t brace = pattern.find('}');
  if (pattern.starts_with("%q{") && brace != std::string_view::npos) return pattern.substr(0, brace + 1);
  return pattern.substr(0, 2);
}

std::optional<std::string> meaning(std::string_view sequence, const OutputNames& names) {
  if (names.of_all_ranks && std::string_view("rph").find(sequence[1]) != std::string_view::npos) return "*";
  switch (sequence[1]) {
    case 'r':
      return names.rank ? std::optional(std::to_string(*names.rank)) : std::nullopt;
    case 'p':
      return names.process ? std::optional(std::to_string(*names.process)) : std::nullopt;
    case 'h':
      return names.host;
    case 'j':
      return names.job;
    case '%':
      return "%";
    default:
      break;
  }
  if (!sequence.ends_with('}') || names.variables == nullptr) return std::nullopt;
  const auto found = names.variables->find(sequence.substr(3, sequence.size() - 4));
  return found == names.variables->end() ? "" : found->second;
}

}  // namespace

std::span<const OptionInfo> option_table() {
  return table;
}

std::string accepted_values(const OptionInfo& option) {
  const std::string_view type = option.type;
  const std::string range = std::string(" from ") + option.least + " to " + option.most;
  if (type == "Mode") return "one of off, observe, fill";
  if (type == "Text") return "a text";
  if (type == "Bytes") return "a size" + range;
  if (type == "Limit") return "a size" + range + ", or off";
  if (type == "Duration") return "a duration" + range;
  if (type == "Percent") return "a percentage" + range + ", or off";
  if (type == "Count") return "a number" + range;
  if (type == "Flag") return "one of on, off, yes, no, true, false, 1, 0";
  return "one of info, warn, error, off";
}

const char* name_of(Source source) noexcept {
  switch (source) {
    case Source::built_in:
      return "default";
    case Source::environment:
      return "environment";
    case Source::implied:
      return "implied by WEFT_FILL";
  }
  return "default";
}

Variables environment_variables() {
  Variables variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

ParsedOptions parse_options(const Variables& variables) {
  ParsedOptions parsed;
  std::size_t line = 0;
#define OPTION(field, type, variable, fallback, least, most, help) \
  read_option(table[line++], variables, parsed.options.field, parsed);
#include "runner/options/options.def"
#undef OPTION
  OptionValue& mode = parsed.values.front();
  if (!parsed.options.fill.empty() && given(*mode.option, variables) == nullptr) {
    parsed.options.mode = Mode::fill;
    mode.text = "fill";
    mode.source = Source::implied;
  }
  for (auto entry = variables.lower_bound("WEFT"); entry != variables.end() && entry->first.starts_with("WEFT");
       ++entry)
    if (entry->first.starts_with("WEFT_") && !is_option(entry->first))
      parsed.warnings.push_back(unknown_variable(entry->first));
  return parsed;
}

std::string job_id(const Options& options, const Variables& variables) {
  if (!options.job.empty()) return options.job;
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "TORCHELASTIC_RUN_ID"}) {
    const auto found = variables.find(name);
    // torchrun without a rendezvous id says "none".
    if (found != variables.end() && !found->second.empty() && found->second != "none") return found->second;
  }
  return std::to_string(::getppid());
}

std::optional<int> launcher_rank(const Variables& variables) {
  const LauncherNames* const launcher = launcher_of(variables);
  return launcher == nullptr ? std::nullopt : number_in(variables, launcher->rank);
}

JobPlace place_in_job(const Variables& variables, const JobPlace& in_communicator) {
  const LauncherNames* const launcher = launcher_of(variables);
  if (launcher == nullptr) return in_communicator;
  const int rank = *number_in(variables, launcher->rank);
  const int ranks = number_in(variables, launcher->ranks).value_or(std::max(in_communicator.ranks, rank) + 1);
  // With as many ranks as the launcher has, a communicator spans the job; with more, a process drives several GPUs.
  if (ranks <= in_communicator.ranks || rank >= ranks) return in_communicator;
  return {rank, launcher->ranks == nullptr ? std::max(in_communicator.ranks, rank + 1) : ranks};
}

OutputNames output_names(const Options& options, const Variables& variables) {
  OutputNames names;
  names.process = static_cast<int>(::getpid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) names.host = host.data();
  names.job = job_id(options, variables);
  names.variables = &variables;
  return names;
}

std::string expand_output(std::string_view pattern, const OutputNames& names) {
  std::string result;
  while (!pattern.empty()) {
    const std::string_view sequence = leading_sequence(pattern);
    result += sequence.size() > 1 ? meaning(sequence, names).value_or(std::string(sequence)) : std::string(sequence);
    pattern.remove_prefix(sequence.size());
  }
  return result;
}

}  // namespace weft
