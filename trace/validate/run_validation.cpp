// See the header. Which truth file belongs to which trace: host, process and start of the process are the same.
#include "trace/validate/run_validation.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"
#include "trace/read/same_file.h"
#include "trace/validate/trust.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> truths_in(const std::vector<std::string>& directories) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with("truth") && name.ends_with(".jsonl")) paths.push_back(entry->path().string());
    }
  }
  std::ranges::sort(paths);
  return each_once(paths);
}

using Truths = std::map<TraceProcess, TruthFile>;

Truths read_truths(const std::vector<std::string>& directories, std::vector<std::string>& notes) {
  Truths truths;
  for (const std::string& path : truths_in(directories)) {
    try {
      TruthFile file = read_truth_file(path);
      TraceProcess process{file.host, file.process, file.start_id};
      truths.insert_or_assign(std::move(process), std::move(file));
    } catch (const std::runtime_error& error) {
      notes.push_back(std::string(error.what()) + "; it is left out");
    }
  }
  return truths;
}

// All traces of one GPU of one process: the truth must not show NCCL where none of them has a window.
struct Seen {
  const DeviceTruth* truth = nullptr;
  Span known;
  AnySpans windows;
  bool whole = true;  // all have their summaries
  std::vector<std::size_t> ranks;
};
using AllSeen = std::map<std::pair<TraceProcess, std::int64_t>, Seen>;

// Whether the lateness of Weft's thread is large enough for a good part of what is wrong: naming 0.8 points as the
// cause of 87 would lead away from it.
bool explains(const RankSummary& rank, const Comparison& comparison) {
  constexpr double good_part = 0.25;
  const std::int64_t wrong = std::max({comparison.missed, comparison.beside_compute, comparison.said_beside_compute});
  return rank.was_late() && rank.lateness_share() >= good_part * comparison.share(wrong);
}

void compare_rank(const FileTotals& file, const TruthFile& truth, RunValidation& run, AllSeen& all) {
  RankValidation& rank = run.ranks.back();
  rank.cupti = truth.cupti;
  rank.clock_uncertainty = truth.clock_uncertainty;
  rank.dropped = truth.dropped;
  rank.nothing = why_nothing(truth, file.rank.header.device);
  if (!rank.nothing.empty()) return;
  const DeviceTruth& device = truth.devices.at(file.rank.header.device);
  const ReportedTrace trace = read_reported(file.path);
  const Reported& reported = trace.reported;
  note_what_is_missing(truth, trace, rank);
  if (!is_measured(file.rank.header))
    rank.notes.push_back("Weft did not measure idle time: " + printable(file.rank.header.idle_unknown));
  const Span known = known_to_the_last_record(truth, device, reported, rank);
  rank.comparison = compare(reported, device, known, run.shortest);
  doubt_what_is_missing(truth, trace, rank);
  if (rank.comparison.window > 0 && rank.comparison.compute == 0)
    rank.doubts.push_back("CUPTI shows no kernel in the trace's window but those of NCCL");
  if (rank.doubts.empty()) rank.faults = faults(rank.comparison, run.bounds);
  if (!rank.faults.empty() && explains(file.rank, rank.comparison)) rank.likely_cause = lateness_of(file.rank);
  for (std::string& doubt : doubts(rank.comparison, run.bounds)) rank.doubts.push_back(std::move(doubt));
  Seen& seen = all[{file.process, file.rank.header.device}];
  seen.truth = &device;
  seen.known = truth.known;
  seen.windows.insert(seen.windows.end(), reported.windows.begin(), reported.windows.end());
  seen.whole = seen.whole && trace.ended;
  seen.ranks.push_back(run.ranks.size() - 1);
}

void doubt_what_no_window_holds(const AllSeen& all, RunValidation& run) {
  for (const auto& [place, seen] : all) {
    const Spans windows = united(seen.windows);
    const std::int64_t outside = length(difference(seen.truth->communication, windows));
    // Of a process that was killed the trace ends a little before the truth, or after it. Not by much.
    const double bound = seen.whole ? run.bounds.forgiven : 1 - run.bounds.least_compared;
    if (static_cast<double>(outside) < bound * static_cast<double>(length(windows))) continue;
    for (const std::size_t rank : seen.ranks)
      run.ranks[rank].doubts.push_back(formatted("CUPTI shows %.1f ms of NCCL's kernels outside the trace's window",
                                                 static_cast<double>(outside) / 1e6));
  }
}

void note_missing_ranks(const std::vector<FileTotals>& files, RunValidation& run) {
  std::int64_t expected = 0;
  std::set<std::int64_t> there;
  for (const FileTotals& file : files) {
    expected = std::max<std::int64_t>(expected, file.rank.header.ranks);
    there.insert(file.rank.header.rank);
  }
  const std::int64_t missing = expected - static_cast<std::int64_t>(there.size());
  if (missing <= 0) return;
  run.complete = false;
  run.notes.push_back(formatted("the job has %lld ranks; of %lld there is no trace", static_cast<long long>(expected),
                                static_cast<long long>(missing)));
}

// Traces of earlier runs are left out, and so are the truth files beside them: the process's number is in both names.
void note_truth_without_trace(const Truths& truths, const std::vector<FileTotals>& files, RunValidation& run) {
  for (const auto& [process, truth] : truths) {
    const auto is_of_process = [&wanted = process](const FileTotals& file) { return file.process == wanted; };
    if (std::ranges::any_of(files, is_of_process)) continue;
    const fs::path path(truth.path);
    const std::string ending = "." + std::to_string(truth.process) + ".jsonl";
    std::error_code error;
    bool found = false;
    for (fs::directory_iterator entry(path.parent_path(), error); !error && !found && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      found = name.starts_with("rank") && name.ends_with(ending);
    }
    if (found) continue;
    run.complete = false;
    run.notes.push_back("there is no trace beside " + printable(truth.path));
  }
}

}  // namespace

std::size_t RunValidation::compared() const {
  return static_cast<std::size_t>(std::ranges::count_if(ranks, [](const auto& rank) { return rank.nothing.empty(); }));
}

bool RunValidation::agrees() const {
  return complete && !ranks.empty() && !differs() &&
         std::ranges::all_of(ranks, [](const RankValidation& rank) { return rank.decided(); });
}

bool RunValidation::differs() const {
  return std::ranges::any_of(ranks, [](const RankValidation& rank) { return !rank.faults.empty(); });
}

std::uint64_t truth_bytes(const std::vector<std::string>& directories, const std::set<TraceProcess>& processes) {
  std::uint64_t bytes = 0;
  for (const std::string& path : truths_in(directories)) {
    try {
      const TruthFile file = read_truth_header(path);
      if (processes.contains({file.host, file.process, file.start_id})) bytes += fs::file_size(path);
    } catch (const std::exception&) {
      // weft validate names it.
    }
  }
  return bytes;
}

RunValidation validate_directories(const std::vector<std::string>& directories, const Bounds& bounds,
                                   std::int64_t shortest) {
  RunValidation run;
  run.bounds = bounds;
  run.shortest = shortest;
  const std::vector<FileTotals> files = newest_run(directories, run.notes);
  const Truths truths = read_truths(directories, run.notes);
  AllSeen all;
  for (const FileTotals& file : files) {
    RankValidation& rank = run.ranks.emplace_back();
    rank.name = file.rank.name;
    rank.rank = file.rank.header.rank;
    rank.device = file.rank.header.device;
    const auto truth = truths.find(file.process);
    if (truth == truths.end())
      rank.nothing = "there is no truth file: the run was without WEFT_VALIDATE";
    else
      compare_rank(file, truth->second, run, all);
  }
  doubt_what_no_window_holds(all, run);
  note_missing_ranks(files, run);
  note_truth_without_trace(truths, files, run);
  return run;
}

}  // namespace weft
