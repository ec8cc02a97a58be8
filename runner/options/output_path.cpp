// See output_path.h.
#include "runner/options/output_path.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "runner/options/launcher.h"

namespace weft {
namespace {

bool is_variable(std::string_view sequence) {
  return sequence.starts_with("%q{") && sequence.size() > 4;
}

bool is_known(std::string_view sequence) {
  return is_variable(sequence) ||
         (sequence.size() == 2 && std::string_view("rphj%").find(sequence[1]) != std::string_view::npos);
}

std::string name_in(std::string_view variable_sequence) {
  return std::string(variable_sequence.substr(3, variable_sequence.size() - 4));
}

// As it can be printed: not half of a character.
std::string shown(std::string_view sequence) {
  const bool is_ascii = std::ranges::all_of(sequence, [](char c) { return c > ' ' && c < 0x7f; });
  return std::string(is_ascii ? sequence : sequence.substr(0, 1));
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
  if (!is_variable(sequence) || names.variables == nullptr) return std::nullopt;
  const auto found = names.variables->find(name_in(sequence));
  return found == names.variables->end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

}  // namespace

OutputNames output_names(const Options& options, const Variables& variables) {
  OutputNames names;
  names.process = static_cast<int>(::getpid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) names.host = host.data();
  names.job = job_id(options.job, variables);
  names.variables = &variables;
  return names;
}

PathSequences sequences_in(std::string_view pattern) {
  PathSequences result;
  while (!pattern.empty()) {
    const std::string_view sequence = leading_sequence(pattern);
    if (is_variable(sequence)) result.variables.push_back(name_in(sequence));
    const bool is_wrong = sequence.front() == '%' && !is_known(sequence);
    if (is_wrong && result.unknown.empty()) result.unknown = shown(sequence);
    pattern.remove_prefix(sequence.size());
  }
  return result;
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
