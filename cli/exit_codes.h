// The exit codes of the weft command by their names, and all of them with their meanings, from exit_codes.def.
//
// Used by the verbs and by the help. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

#define EXIT_CODE(verb, name, code, meaning) inline constexpr int name = code;
#include "cli/exit_codes.def"
#undef EXIT_CODE

struct ExitCode {
  std::string_view verb;  // "": of all verbs
  int code = 0;
  const char* meaning = "";
};
std::span<const ExitCode> exit_codes();

// Of a verb, with those of all verbs that it does not give a meaning of its own; by their numbers.
std::vector<ExitCode> exit_codes_of(std::string_view verb);

// All of them as text, for `weft help exit-codes`.
std::string exit_codes_page();

}  // namespace weft::cli
