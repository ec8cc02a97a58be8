// weft export: the traces of a run in the formats of other tools.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/export_metrics.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "trace/export/csv.h"
#include "trace/export/exported_run.h"
#include "trace/export/kineto.h"
#include "trace/export/names.h"
#include "trace/export/number_ranges.h"
#include "trace/export/output.h"
#include "trace/export/perfetto.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"

namespace weft::cli {
namespace {

struct Wanted {
  std::string perfetto, kineto, csv;

  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const std::string& path : {perfetto, kineto, csv})
      if (!path.empty()) all.push_back(path);
    return all;
  }
};

// Opened before the traces are read: that one cannot be written is not found out after minutes.
struct Outputs {
  std::optional<OutputFile> perfetto;
  std::optional<OutputFolder> kineto, csv;

  explicit Outputs(const Wanted& wanted) {
    if (!wanted.perfetto.empty()) {
      perfetto.emplace(wanted.perfetto);
      refuse_other_file(wanted.perfetto, &is_begin_of_perfetto, "Perfetto trace of weft export");
    }
    if (!wanted.kineto.empty()) kineto.emplace(wanted.kineto);
    if (!wanted.csv.empty()) csv.emplace(wanted.csv);
  }
};

// Nothing: each output has a place of its own.
std::optional<std::string> same_place(const std::vector<std::string>& paths) {
  for (std::size_t one = 0; one < paths.size(); ++one)
    for (std::size_t other = one + 1; other < paths.size(); ++other)
      if (resolved_output(paths[one]) == resolved_output(paths[other])) return paths[one];
  return std::nullopt;
}

std::string counted_ranks(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " rank" : " ranks");
}

// "3 sends, 4 receives and 3 arrows". Where the number of arrows is known for a sample only, it is left out.
std::string messages_text(const PerfettoCounts& counts) {
  const std::string sends = std::to_string(counts.sends) + " sends",
                    receives = std::to_string(counts.receives) + " receives";
  if (!counts.arrows_are_sure) return sends + " and " + receives;
  return sends + ", " + receives + " and " + std::to_string(counts.arrows) +
         (counts.arrows == 1 ? " arrow" : " arrows");
}

std::string megabytes(std::uint64_t bytes) {
  return formatted("%.1f MB", static_cast<double>(bytes) / 1e6);
}

// A run of thousands of damaged traces has as many notes; the Perfetto trace has them all.
void say(const std::vector<std::string>& notes) {
  constexpr std::size_t most = 40;
  for (std::size_t index = 0; index < std::min(most, notes.size()); ++index) inform("note: " + notes[index]);
  if (notes.size() > most) inform("note: and " + std::to_string(notes.size() - most) + " more notes");
}

void write_perfetto(const ExportedRun& run, const EventNames& names, OutputFile& file, ProgressBar& bar) {
  const std::string path = file.path();
  const PerfettoCounts counts = export_perfetto(run, names, file, &bar);
  bar.clear();
  if (counts.left_out > 0)
    warn(std::to_string(counts.left_out) + " slices are not in " + printable(path) +
         ": too many of them overlap, or there are too many communicators");
  if (counts.backwards > 0)
    warn(std::to_string(counts.backwards) +
         " messages arrived before they were sent, as the clocks of their ranks say: these have no arrow");
  if (!counts.arrows_are_sure)
    warn(
        "there are more than 4 million messages: arrows of some may be missing, where a receive was seen to "
        "end before its send began");
  inform(printable(path) + ", " + megabytes(counts.bytes) + ": " + counted_ranks(run.ranks.size()) + ", " +
         std::to_string(counts.slices) + " slices, " + std::to_string(counts.counters) + " values of counters, " +
         messages_text(counts) + "; open it in ui.perfetto.dev");
}

void write_kineto(const ExportedRun& run, const EventNames& names, OutputFolder& folder, ProgressBar& bar) {
  const KinetoCounts counts = export_kineto(run, names, folder, &bar);
  bar.clear();
  say(counts.notes);
  inform(printable(folder.path()) + ", " + megabytes(counts.bytes) + ": " + counted_ranks(counts.files) + ", " +
         std::to_string(counts.rows) + " rows; all time outside of bubbles stands there as computation");
}

void write_csv(const ExportedRun& run, OutputFolder& folder, ProgressBar& bar) {
  const CsvCounts counts = export_csv(run, folder, &bar);
  bar.clear();
  inform(printable(folder.path()) + ", " + megabytes(counts.bytes) + ": " + std::to_string(counts.rows) + " rows in " +
         std::to_string(counts.tables) + " tables");
}

}  // namespace

int export_verb(const Arguments& arguments) {
  ExportWanted wanted;
  Wanted places;
  MetricsWanted metrics;
  CLI::App app("Writes the traces of all ranks of one run for other tools (docs/export.md).", "weft export");
  app.add_option("DIR", wanted.directories, "Folder of the traces. Several where each rank has its own.")
      ->required()
      ->type_name("");
  app.add_option("--perfetto", places.perfetto, "A timeline of all ranks, for ui.perfetto.dev.")->type_name("FILE");
  app.add_option("--kineto", places.kineto, "PyTorch's format, a file for each rank: for HTA.")->type_name("FOLDER");
  app.add_option("--csv", places.csv, "Tables, one for each kind of record. They have the keys of docs/trace.md.")
      ->type_name("FOLDER");
  app.add_option_function<std::string>(
         "--iterations",
         [&](const std::string& text) {
           wanted.iterations = parse_number_range(text);
           if (!wanted.iterations) throw CLI::ValidationError("'" + text + "' is no range of iterations; 100-110 is");
         },
         "Only these, by their numbers.")
      ->type_name("A-B");
  app.add_option_function<std::string>(
         "--ranks",
         [&](const std::string& text) {
           const auto ranks = parse_number_ranges(text);
           if (!ranks) throw CLI::ValidationError("'" + text + "' is no list of ranks; 0,4-7 is");
           wanted.ranks = *ranks;
         },
         "Only these: 0,4-7.")
      ->type_name("LIST");
  add_metrics_options(app, metrics);
  if (const auto code = parse(app, arguments)) return *code;
  wanted.directories = each_once(wanted.directories);
  if (const auto mistake = mistake_in(metrics, !places.paths().empty() || wanted.iterations)) {
    complain(*mistake);
    return wrong_usage;
  }
  if (!metrics.folder.empty()) return export_metrics(metrics, wanted);
  if (places.paths().empty()) {
    complain("a format is missing, as --perfetto FILE; see 'weft export --help'");
    return wrong_usage;
  }
  if (const auto place = same_place(places.paths())) {
    complain("two formats cannot go to " + printable(*place));
    return wrong_usage;
  }
  Outputs outputs(places);
  ProgressBar bar;
  const ExportedRun run = find_exported_run(wanted, &bar);
  bar.clear();
  say(run.notes);
  const EventNames names = event_names(run);
  if (outputs.perfetto) write_perfetto(run, names, *outputs.perfetto, bar);
  if (outputs.kineto) write_kineto(run, names, *outputs.kineto, bar);
  if (outputs.csv) write_csv(run, *outputs.csv, bar);
  return 0;
}

}  // namespace weft::cli
