// See the header.
#include "cli/colours.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace weft::cli {
namespace {

// Of the line: how many characters have the ink.
std::size_t inked_part(std::string_view line, const InkedLine& rule) {
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  if (!line.substr(blanks).starts_with(rule.begin)) return 0;
  return rule.whole ? line.size() : blanks + rule.begin.size();
}

std::string with_ink_of(std::string_view line, std::span<const InkedLine> rules) {
  for (const InkedLine& rule : rules)
    if (const std::size_t part = inked_part(line, rule); part > 0)
      return inked(std::string(line.substr(0, part)), rule.ink) + std::string(line.substr(part));
  return std::string(line);
}

}  // namespace

bool wants_colours(bool is_terminal, const Variables& variables) {
  const auto value = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : std::string_view(found->second);
  };
  const std::string_view terminal = value("TERM");
  return is_terminal && value("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
}

bool has_colours(std::FILE* out) {
  return wants_colours(::isatty(::fileno(out)) == 1, environment_variables());
}

std::string inked(const std::string& text, Ink ink) {
  const char* const begin = ink == Ink::bold ? "\x1b[1m" : ink == Ink::yellow ? "\x1b[33m" : "\x1b[31m";
  return begin + text + "\x1b[0m";
}

std::string with_ink(const std::string& text, std::span<const InkedLine> rules) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    result += begin == 0 ? inked(std::string(line), Ink::bold) : with_ink_of(line, rules);
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return result;
}

std::span<const InkedLine> inked_lines() {
  static constexpr std::array lines{
      InkedLine{"rank iterations", Ink::bold},
      InkedLine{"rank  idle %", Ink::bold},
      InkedLine{"of all ranks", Ink::bold},
      InkedLine{"by stage", Ink::bold},
      InkedLine{"by rank", Ink::bold},
      InkedLine{"note:", Ink::yellow, false},
      InkedLine{"verdict: not all", Ink::red},
      InkedLine{"verdict: none", Ink::yellow},
      InkedLine{"verdict:", Ink::bold},
      InkedLine{"so here idle time is not measured", Ink::red},
      InkedLine{"nothing is filled", Ink::yellow},
      InkedLine{"questions about hardware queues: no answer", Ink::yellow},
      InkedLine{"no NCCL", Ink::yellow},
      InkedLine{"no CUPTI", Ink::yellow},
  };
  return lines;
}

void print_inked(const std::string& text) {
  std::fputs((has_colours(stdout) ? with_ink(text, inked_lines()) : text).c_str(), stdout);
}

}  // namespace weft::cli
