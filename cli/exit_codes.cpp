// See the header.
#include "cli/exit_codes.h"

#include <algorithm>
#include <array>

#include "cli/help.h"
#include "trace/formatted.h"

namespace weft::cli {
namespace {

constexpr std::array table{
#define EXIT_CODE(verb, name, code, meaning) ExitCode{verb, code, meaning},
#include "cli/exit_codes.def"
#undef EXIT_CODE
};

}  // namespace

std::span<const ExitCode> exit_codes() {
  return table;
}

std::vector<ExitCode> exit_codes_of(std::string_view verb) {
  std::vector<ExitCode> codes;
  for (const std::string_view wanted : {verb, std::string_view()})
    for (const ExitCode& each : table)
      if (each.verb == wanted && std::ranges::find(codes, each.code, &ExitCode::code) == codes.end())
        codes.push_back(each);
  std::ranges::sort(codes, {}, &ExitCode::code);
  return codes;
}

std::string exit_codes_page() {
  std::string page = "Exit codes of the weft command, where no verb says otherwise\n";
  std::string_view verb;
  for (const ExitCode& each : table) {
    if (each.verb != verb) page += "\nweft " + std::string(each.verb) + "\n";
    verb = each.verb;
    page += in_columns(formatted("  %3d", each.code), each.meaning, 7);
  }
  return page;
}

}  // namespace weft::cli
