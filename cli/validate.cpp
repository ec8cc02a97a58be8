// weft validate: holds the traces of a run against what CUPTI recorded beside them.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/colours.h"
#include "cli/parse.h"
#include "trace/validate/run_validation.h"

namespace weft::cli {
namespace {

// CLI::Range lets a NaN pass, and no bound is ever broken by one.
std::string is_share(const std::string& text) {
  double share = 0;
  if (CLI::detail::lexical_cast(text, share) && share >= 0 && share <= 1) return "";
  return "'" + text + "' is no number between 0 and 1";
}

}  // namespace

int validate_verb(const Arguments& arguments) {
  bool json = false;
  Bounds bounds;
  std::int64_t shortest_us = shortest_idle / 1000;
  std::vector<std::string> directories;
  CLI::App app(
      "Holds the traces of a run that was made with 'weft run --validate' against what CUPTI recorded.\n\n"
      "Times in the JSON form are nanoseconds. docs/validate.md says how they are compared.",
      "weft validate");
  app.add_flag("--json", json, "One JSON object.");
  app.add_option("--least", bounds.least, "Bound for coverage and precision, as a share.")
      ->check(is_share, "FLOAT in [0 - 1]")
      ->capture_default_str();
  app.add_option("--shortest", shortest_us, "Idle time shorter than this is none, in microseconds.")
      ->check(CLI::Range(shortest_idle / 1000, std::int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("DIR", directories, "Folder of the traces. Several where each rank has its own.")
      ->required()
      ->type_name("");
  if (const auto code = parse(app, arguments)) return *code;
  const RunValidation run = validate_directories(directories, bounds, shortest_us * 1000);
  if (json)
    std::fputs(to_json(run).c_str(), stdout);
  else
    print_inked(to_text(run));
  if (run.agrees()) return validate_agrees;
  return run.differs() ? validate_differs : validate_undecided;
}

}  // namespace weft::cli
