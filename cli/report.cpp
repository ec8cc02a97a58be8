// weft report: one HTML file that shows a run to people.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/estimated_run.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/report/page.h"
#include "trace/export/output.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"
#include "trace/report/file_names.h"
#include "trace/report/report.h"

namespace weft::cli {
namespace {

constexpr std::size_t most_estimated = 64;                  // ranks: their traces are read once more
constexpr Duration slice = std::chrono::microseconds(300);  // as weft estimate has it without flags

// Evenly spread over the ranks that count.
std::vector<AddedUpTrace> estimated_traces(const report::ReportedRun& run) {
  std::vector<AddedUpTrace> all, some;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace)
    if (run.counts(trace)) all.push_back({run.traces[trace].path, &run.rank(trace), run.traces[trace].is_limited});
  const std::size_t count = std::min(all.size(), most_estimated);
  for (std::size_t place = 0; place < count; ++place) some.push_back(all[place * all.size() / count]);
  return some;
}

// Why so little was read that nothing can be said; "": something can.
std::string why_not(const EstimatedRun& run) {
  std::uint64_t iterations = 0, bubbles = 0;
  double idle = 0;
  for (const EstimatedRun::Rank& rank : run.ranks) {
    iterations = std::max(iterations, rank.iterations);
    bubbles += rank.cases.front().counted.bubbles;
    idle += rank.idle_share;
  }
  if (iterations < few_iterations)
    return formatted("it takes %llu iterations at least, and the traces have %llu", number(few_iterations),
                     number(iterations));
  if (bubbles > 0) return "";
  return idle > 0 ? "no bubble of an iteration is in the traces" : "no rank waited";
}

// As `weft estimate` without flags has it, for the larger of its budgets.
report::FillEstimate estimate_of(const report::Report& shown) {
  report::FillEstimate estimate;
  if (shown.gain.is_filled) {
    estimate.missing = "fill work ran in this run, and its bubbles are those that it left";
    return estimate;
  }
  estimate.job = "400 kernels of 25 us";
  estimate.budget = "1 %";
  const EstimatedRun run =
      estimate_traces(estimated_traces(*shown.run), {parse_job_lengths("400x25us")}, {Case{}}, slice);
  for (const std::string& note : run.notes)
    estimate.notes.push_back(report::with_names_of_files(note, shown.run->directories));
  estimate.ranks = run.ranks.size();
  if (run.ranks.empty())
    estimate.missing = run.notes.empty() ? "no rank was measured" : estimate.notes.front();
  else
    estimate.missing = why_not(run);
  if (!estimate.missing.empty()) return estimate;
  double idle = 0, filled = 0;
  for (const EstimatedRun::Rank& rank : run.ranks) {
    idle += rank.idle_share;
    filled += rank.cases.front().filled_share;
    estimate.most_delay = std::max(estimate.most_delay, rank.cases.front().delay_share);
    estimate.has_all_bubbles = estimate.has_all_bubbles && rank.has_all_bubbles;
  }
  estimate.conversion = idle > 0 ? filled / idle : 0;
  estimate.hours_per_day = 24 * filled * static_cast<double>(shown.gain.ranks) / static_cast<double>(run.ranks.size());
  return estimate;
}

// The name of the folder alone: a report is passed on, and where it lies says who made it.
std::string place_of(const std::vector<std::string>& directories) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(directories.front(), error);
  std::string name = (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
  if (name.empty()) name = directories.front();
  return directories.size() == 1 ? name : name + " and " + std::to_string(directories.size() - 1) + " more";
}

// Nothing: it is no number of an iteration.
std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string why_no_number(const std::string& text) {
  return number_of(text) ? "" : "'" + printable(text) + "' is no number of an iteration";
}

bool is_begin_of_page(std::string_view begin) {
  return begin.starts_with("<!DOCTYPE html>");
}

}  // namespace

int report_verb(const Arguments& arguments) {
  std::vector<std::string> directories;
  std::string path = "weft-report.html";
  std::string wanted;
  CLI::App app("Writes one HTML file that shows a run: where time is lost, and why (docs/report.md).", "weft report");
  app.add_option("DIR", directories, "Folder of the traces. Several where each rank has its own.")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", path, "The file.")->type_name("FILE")->capture_default_str();
  app.add_option("--iteration", wanted, "The one that is shown in full. Without it one of median length.")
      ->type_name("NUMBER")
      ->check(why_no_number);
  if (const auto code = parse(app, arguments)) return *code;
  const std::optional<std::uint64_t> iteration = number_of(wanted);
  refuse_other_file(path, &is_begin_of_page, "page of a report");
  OutputFile file(path);
  directories = each_once(directories);
  ProgressBar bar;
  const report::ReportedRun run = report::read_run(directories, &bar, iteration);
  bar.clear();
  report::Report shown = report::make_report(run, place_of(directories), iteration);
  if (iteration && !shown.timeline.missing.empty()) throw std::runtime_error(shown.timeline.missing);
  shown.estimate = estimate_of(shown);
  file.write(report_page("Weft report: " + shown.place, report::data_block(shown)));
  const std::uint64_t bytes = file.bytes();
  file.finish();
  for (const std::string& sentence : report::sentences_of(shown)) inform(sentence);
  inform(printable(path) + ", " + formatted("%.2f MB", static_cast<double>(bytes) / 1e6) + ": open it in a browser");
  return 0;
}

}  // namespace weft::cli
