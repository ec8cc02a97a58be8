// weft summary: adds up the traces of all ranks.
#include "trace/summary.h"

#include <cstdio>

#include "cli/parse.h"

namespace weft::cli {

int summary_verb(const Arguments& arguments) {
  bool json = false;
  std::string directory;
  CLI::App app("Adds up the traces of all ranks of one run. Times in the JSON form are nanoseconds.", "weft summary");
  app.add_flag("--json", json, "One JSON object.");
  app.add_option("DIR", directory, "The directory of the traces.")->required()->type_name("");
  if (const auto code = parse(app, arguments)) return *code;
  const RunSummary run = summarize_directory(directory);
  std::fputs((json ? to_json(run) : to_text(run, directory)).c_str(), stdout);
  return 0;
}

}  // namespace weft::cli
