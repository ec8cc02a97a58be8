// weft summary: adds up the traces of all ranks.
#include "trace/read/summary.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/parse.h"
#include "trace/validate/run_validation.h"

namespace weft::cli {

int summary_verb(const Arguments& arguments) {
  bool json = false;
  std::vector<std::string> directories;
  CLI::App app("Adds up the traces of all ranks of one run. Times in the JSON form are nanoseconds.", "weft summary");
  app.add_flag("--json", json, "One JSON object.");
  app.add_option("DIR", directories, "The directory of the traces; several where each rank has its own.")
      ->required()
      ->type_name("");
  if (const auto code = parse(app, arguments)) return *code;
  const RunSummary run = summarize_directories(directories);
  const std::string more = directories.size() == 1 ? "" : " and " + std::to_string(directories.size() - 1) + " more";
  std::string text = json ? to_json(run) : to_text(run, directories.front() + more);
  // The whole of it is for weft validate; but a number that is known to be wrong must not stand alone.
  if (!json && has_truth(directories))
    text += "\n" + to_text(validate_directories(directories, Bounds{}, shortest_idle));
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  complain(std::string("the summary cannot be written: ") + std::strerror(errno));
  return failed;
}

}  // namespace weft::cli
