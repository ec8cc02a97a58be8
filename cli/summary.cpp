// weft summary: adds up the traces of all ranks.
#include "trace/read/summary.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/colours.h"
#include "cli/parse.h"
#include "trace/read/runs.h"
#include "trace/read/same_file.h"
#include "trace/validate/run_validation.h"

namespace weft::cli {

namespace {

constexpr std::uint64_t most_truth_bytes = 16'000'000;  // that are read in a second or so

// A number that is known to be wrong must not stand alone.
struct Validation {
  std::optional<RunValidation> run;
  std::string too_much;  // why it was not made; "": there is nothing to make it from, or it was
};

Validation validation_of(const RunSummary& run, const std::vector<std::string>& directories) {
  std::set<TraceProcess> processes;
  for (const RankSummary& rank : run.ranks)
    processes.insert({std::string(rank.header.host), rank.header.process, rank.header.start_id});
  const std::uint64_t bytes = truth_bytes(directories, processes);
  if (bytes == 0) return {};
  if (bytes <= most_truth_bytes) return {validate_directories(directories, Bounds{}, shortest_idle), ""};
  return {std::nullopt, "CUPTI's records are beside the traces, " + std::to_string(bytes / 1'000'000) +
                            " MB of them: weft validate says how far the numbers above are right"};
}

std::string named(const std::vector<std::string>& directories) {
  return directories.front() +
         (directories.size() == 1 ? "" : " and " + std::to_string(directories.size() - 1) + " more");
}

// Of several folders those whose traces are shown: one may hold nothing but an earlier run.
std::string place_of(const std::vector<FileTotals>& files, const std::vector<std::string>& directories) {
  std::vector<std::string> shown, left_out;
  for (const std::string& directory : directories) {
    const bool is_shown = std::ranges::any_of(files, [&](const FileTotals& file) {
      const std::filesystem::path path = file.path;
      return path == directory / path.filename();
    });
    (is_shown ? shown : left_out).push_back(directory);
  }
  if (shown.empty()) return named(directories);
  return named(shown) + (left_out.empty() ? "" : " (the newest run; left out: " + named(left_out) + ")");
}

std::string text_of(const Validation& validation) {
  if (validation.run) return "\n" + to_text(*validation.run);
  return validation.too_much.empty() ? "" : "\n" + validation.too_much + "\n";
}

std::string json_of(const RunSummary& run, const Validation& validation) {
  if (validation.run) return to_json(run, to_json(*validation.run));
  return validation.too_much.empty() ? to_json(run) : to_json(run, "\"" + validation.too_much + "\"");
}

}  // namespace

int summary_verb(const Arguments& arguments) {
  bool json = false;
  std::vector<std::string> directories;
  CLI::App app(
      "Adds up the traces of all ranks of one run, during it or afterwards.\n\n"
      "Times in the JSON form are nanoseconds; docs/trace.md says what the numbers mean.",
      "weft summary");
  app.add_flag("--json", json, "One JSON object.");
  app.add_option("DIR", directories, "Folder of the traces. Several where each rank has its own.")
      ->required()
      ->type_name("");
  if (const auto code = parse(app, arguments)) return *code;
  directories = each_once(directories);
  std::vector<std::string> notes;
  const std::vector<FileTotals> files = newest_run(directories, notes);
  const RunSummary run = summarize(files, notes);
  const Validation validation = validation_of(run, directories);
  const std::string text =
      json ? json_of(run, validation) : to_text(run, place_of(files, directories)) + text_of(validation);
  if (json)
    std::fputs(text.c_str(), stdout);
  else
    print_inked(text);
  return 0;
}

}  // namespace weft::cli
