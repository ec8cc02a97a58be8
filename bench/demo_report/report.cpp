// Compares the two runs of scripts/demo: losses, iteration times, what Weft's traces say, and what the simulated GPUs
// really did. Prints a short table, or with --json one object on stdout. Offline; knows the trainer's report files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "detector/median.h"
#include "sim/truth/truth.h"
#include "trace/read/reader.h"
#include "trace/read/summary.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Gaps between dependent kernels are no bubbles; a launch takes some microseconds.
constexpr std::int64_t shortest_bubble = 10'000;

struct TrainerReport {
  std::vector<std::string> losses;  // as printed: nine digits tell all floats apart
  std::vector<double> seconds;
};

TrainerReport read_report(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + " is missing: did the training end?");
  const Json json = Json::parse(in);
  TrainerReport report;
  for (const Json& loss : json.at("losses")) report.losses.push_back(loss.dump());
  report.seconds = json.at("iteration_seconds").get<std::vector<double>>();
  return report;
}

// The true state of one rank's GPU in the window of its trace.
struct RankTruth {
  double idle_share = 0;
  double fill_seconds = 0;
  std::uint64_t hazards = 0;
};

std::optional<RankTruth> read_truth(const std::string& directory, const weft::TraceFile& trace) {
  const weft::TraceSegment& segment = trace.segments.at(0);
  if (!segment.summary) return {};
  const std::string process = "." + std::to_string(segment.header.process) + ".jsonl";
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.path().string().ends_with(process)) continue;
    const simgpu::TruthLog log = simgpu::read_truth_log(entry.path().string());
    const simgpu::Interval window{segment.summary->window_begin.time_since_epoch().count(),
                                  segment.summary->window_end.time_since_epoch().count()};
    const simgpu::Truth truth = simgpu::truth_of(log, window, shortest_bubble);
    return RankTruth{static_cast<double>(length(truth.idle)) / static_cast<double>(window.end - window.begin),
                     1e-9 * static_cast<double>(truth.fill), log.fill_hazards};
  }
  return {};
}

std::vector<weft::TraceFile> read_traces(const std::string& directory) {
  std::vector<weft::TraceFile> traces;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".jsonl") traces.push_back(weft::read_trace(entry.path().string()));
  return traces;
}

Json rank_entry(const weft::RankSummary& rank, const std::vector<weft::TraceFile>& traces,
                const std::string& truth_directory) {
  const weft::TraceSummary& totals = rank.totals;
  Json entry{{"rank", rank.header.rank},
             {"idle_share", rank.idle_share()},
             {"idle_share_truth", nullptr},
             {"uncertain_share", rank.uncertain_share()},
             {"conversion", rank.conversion()},
             {"fill_units", totals.fill_units},
             {"fill_units_wrong", totals.fill_units_wrong},
             {"dropped_records", totals.dropped_records},
             {"filling_stopped", totals.filling_stopped ? Json(std::string_view(totals.reason)) : Json(nullptr)}};
  if (truth_directory.empty()) return entry;
  for (const weft::TraceFile& trace : traces) {
    if (trace.segments.at(0).header.process != rank.header.process) continue;
    if (const std::optional<RankTruth> truth = read_truth(truth_directory, trace)) {
      entry["idle_share_truth"] = truth->idle_share;
      entry["hazards"] = truth->hazards;
    }
  }
  return entry;
}

// Each with its part of the fill work.
Json jobs_of(const weft::TraceSummary& totals) {
  Json jobs = Json::array();
  for (const weft::JobTotals& job : totals.jobs) {
    const double all = static_cast<double>(std::max<std::int64_t>(totals.filled.count(), 1));
    jobs.push_back({{"name", std::string_view(job.name)},
                    {"units", job.units},
                    {"units_wrong", job.units_wrong},
                    {"share", static_cast<double>(job.filled.count()) / all}});
  }
  return jobs;
}

struct Arguments {
  std::string plain, filled, trace, beside, truth;
  bool json = false;
};

Json compare(const Arguments& arguments) {
  const weft::RunSummary run = weft::summarize_directories({arguments.trace});
  const std::vector<weft::TraceFile> traces = read_traces(arguments.trace);
  Json ranks = Json::array();
  bool identical = true;
  double truth = 0;
  bool truth_known = !run.ranks.empty();
  std::size_t iterations = 0;
  for (const weft::RankSummary& rank : run.ranks) {
    const std::string file = "rank" + std::to_string(rank.header.rank) + ".json";
    const TrainerReport plain = read_report(fs::path(arguments.plain) / file);
    const TrainerReport filled = read_report(fs::path(arguments.filled) / file);
    identical = identical && !plain.losses.empty() && plain.losses == filled.losses;
    iterations = filled.losses.size();
    Json entry = rank_entry(rank, traces, arguments.truth);
    entry["iteration_time_change"] = weft::median(filled.seconds) / weft::median(plain.seconds) - 1;
    truth_known = truth_known && !entry["idle_share_truth"].is_null();
    if (truth_known) truth += entry["idle_share_truth"].get<double>() / static_cast<double>(run.ranks.size());
    ranks.push_back(std::move(entry));
  }
  Json beside = nullptr;
  if (!arguments.beside.empty()) beside = weft::summarize_directories({arguments.beside}).total.conversion();
  return Json{{"losses_identical", identical},
              {"iterations", iterations},
              {"idle_share", run.total.idle_share()},
              {"idle_share_truth", truth_known ? Json(truth) : Json(nullptr)},
              {"uncertain_share", run.total.uncertain_share()},
              {"conversion", run.total.conversion()},
              {"conversion_of_filled_iterations",
               run.total.steady().value_or(run.total.whole()).conversion_of_filled_iterations()},
              {"conversion_beside", beside},
              {"iteration_time_change", ranks.empty() ? Json(nullptr) : ranks[0]["iteration_time_change"]},
              {"fill_units", run.total.totals.fill_units},
              {"fill_units_wrong", run.total.totals.fill_units_wrong},
              {"jobs", jobs_of(run.total.totals)},
              {"dropped_records", run.total.totals.dropped_records},
              {"trace", arguments.trace},
              {"ranks", ranks}};
}

void print_table(const Json& result) {
  const auto percent = [](const Json& share) { return 100 * share.get<double>(); };
  std::printf("\nlosses            %s over %" PRIu64 " iterations, with and without Weft\n",
              result["losses_identical"].get<bool>() ? "bit-identical" : "DIFFERENT",
              result["iterations"].get<std::uint64_t>());
  std::printf("GPU time idle     %.1f %%", percent(result["idle_share"]));
  if (!result["idle_share_truth"].is_null())
    std::printf(" (ground truth %.1f %%)", percent(result["idle_share_truth"]));
  std::printf("\nuncertain         %.1f %% of the time: neither idle nor busy for certain",
              percent(result["uncertain_share"]));
  std::printf("\nidle time filled  %.1f %%; %.1f %% without start-up and the iterations that go without fill\n",
              percent(result["conversion"]), percent(result["conversion_of_filled_iterations"]));
  if (!result["conversion_beside"].is_null())
    std::printf("                  %.1f %% with matrix products in its place\n", percent(result["conversion_beside"]));
  std::printf("fill units        %" PRIu64 " done, %" PRIu64 " wrong\n", result["fill_units"].get<std::uint64_t>(),
              result["fill_units_wrong"].get<std::uint64_t>());
  if (result["jobs"].size() > 1)
    for (const Json& job : result["jobs"])
      std::printf("  %-15s %" PRIu64 " done, %" PRIu64 " wrong, %.1f %% of the fill work\n",
                  job["name"].get<std::string>().c_str(), job["units"].get<std::uint64_t>(),
                  job["units_wrong"].get<std::uint64_t>(), percent(job["share"]));
  std::printf("iteration time    %+.2f %% (median, against the run without Weft)\n",
              percent(result["iteration_time_change"]));
  std::printf("dropped records   %" PRIu64 "\n\n", result["dropped_records"].get<std::uint64_t>());
  std::printf("rank   idle    truth   filled   units\n");
  for (const Json& rank : result["ranks"]) {
    std::printf("%4" PRId64 "  %4.1f %%  ", rank["rank"].get<std::int64_t>(), percent(rank["idle_share"]));
    if (rank["idle_share_truth"].is_null())
      std::printf("     -");
    else
      std::printf("%4.1f %%", percent(rank["idle_share_truth"]));
    std::printf("   %4.1f %%  %6" PRIu64 "\n", percent(rank["conversion"]), rank["fill_units"].get<std::uint64_t>());
  }
  const std::string trace = result["trace"];
  std::printf("\ntraces in %s\nnext: weft summary %s\n", trace.c_str(), trace.c_str());
}

// The reasons why the result is unsound.
std::vector<std::string> failed_checks(const Json& result) {
  std::vector<std::string> failed;
  if (!result["losses_identical"].get<bool>())
    failed.emplace_back("the losses differ between the run without Weft and the run with it");
  if (result["fill_units"] == 0) failed.emplace_back("no fill unit was done");
  for (const Json& job : result["jobs"])
    if (job["units"] == 0) failed.push_back("no unit of fill job " + job["name"].get<std::string>() + " was done");
  if (result["fill_units_wrong"] != 0) failed.push_back(result["fill_units_wrong"].dump() + " fill units are wrong");
  if (result["dropped_records"] != 0) failed.push_back(result["dropped_records"].dump() + " records were dropped");
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Compares the two runs of scripts/demo. The exit code is 1 when the result is not sound.",
               "weft-demo-report");
  app.add_option("--plain", arguments.plain, "the trainer's reports of the run without Weft")->required();
  app.add_option("--filled", arguments.filled, "its reports of the run with Weft")->required();
  app.add_option("--trace", arguments.trace, "Weft's traces")->required();
  app.add_option("--beside", arguments.beside, "the traces of the same with matrix products");
  app.add_option("--truth", arguments.truth, "the simulated GPUs' logs of the run with Weft");
  app.add_flag("--json", arguments.json, "one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    const Json result = compare(arguments);
    if (arguments.json)
      std::printf("%s\n", result.dump(2).c_str());
    else
      print_table(result);
    const std::vector<std::string> failed = failed_checks(result);
    for (const std::string& check : failed) std::fprintf(stderr, "FAILED: %s\n", check.c_str());
    return failed.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft-demo-report: %s\n", error.what());
    return 1;
  }
}
