// Adding up the newest run of a directory; see the header. What one trace adds up to is in file_totals.cpp, the two
// ways to show the result are in summary_text.cpp.
#include "trace/read/summary.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "detector/median.h"
#include "trace/read/file_totals.h"
#include "trace/read/line_reader.h"
#include "trace/read/printable.h"
#include "trace/totals.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// The traces of one process: one for each of its devices.
struct ProcessTraces {
  Duration begin{}, end{};
  std::vector<FileTotals> files;
};
using Run = std::vector<ProcessTraces>;

std::vector<std::string> traces_in(const std::string& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found)
    throw std::runtime_error(printable(directory) +
                             " does not exist: mistyped, or no process with an NCCL communicator ran under " +
                             "Weft (see Limits in the README)");
  if (!error && !fs::is_directory(status)) throw std::runtime_error(printable(directory) + " is not a directory");
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("rank") && name.ends_with(".jsonl")) paths.push_back(entry->path().string());
  }
  if (error) throw std::runtime_error(printable(directory) + " cannot be read: " + error.message());
  std::ranges::sort(paths);
  return paths;
}

void read_directory(const std::string& directory, std::map<TraceProcess, ProcessTraces>& processes,
                    std::vector<std::string>& left_out) {
  for (const std::string& path : traces_in(directory)) {
    FileTotals file;
    try {
      file = add_up_file(path);
    } catch (const std::runtime_error& error) {
      left_out.push_back(error.what());
      continue;
    }
    if (!file.has_header) {
      left_out.push_back(printable(path) + " holds no header");
      continue;
    }
    ProcessTraces& process = processes[file.process];
    const bool first = process.files.empty();
    process.begin = first ? file.begin : std::min(process.begin, file.begin);
    process.end = first ? file.end : std::max(process.end, file.end);
    process.files.push_back(std::move(file));
  }
}

// For most of the shorter one's time: clocks of two machines differ by a little, and a process that is being killed may
// see the next run begin.
bool simultaneous(const ProcessTraces& one, const ProcessTraces& other) {
  const Duration overlap = std::min(one.end, other.end) - std::max(one.begin, other.begin);
  return overlap >= Duration{} && 2 * overlap >= std::min(one.end - one.begin, other.end - other.begin);
}

// The process that was started last with those that ran next to it, and next to these; then what is left, likewise.
std::vector<Run> runs_of(std::map<TraceProcess, ProcessTraces> processes) {
  std::vector<ProcessTraces> left;
  for (auto& [id, process] : processes) left.push_back(std::move(process));
  std::stable_sort(left.begin(), left.end(),
                   [](const ProcessTraces& one, const ProcessTraces& other) { return one.begin > other.begin; });
  std::vector<Run> runs;
  while (!left.empty()) {
    Run run;
    run.push_back(std::move(left.front()));
    left.erase(left.begin());
    for (std::size_t known = 0; known < run.size(); ++known) {
      const auto apart = std::stable_partition(
          left.begin(), left.end(), [&](const ProcessTraces& process) { return !simultaneous(process, run[known]); });
      run.reserve(run.size() + static_cast<std::size_t>(left.end() - apart));
      std::move(apart, left.end(), std::back_inserter(run));
      left.erase(apart, left.end());
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

// Which processes there are of each rank.
std::set<std::tuple<std::int64_t, std::string, std::int64_t>> processes_of_ranks(
    const std::vector<RankSummary>& ranks) {
  std::set<std::tuple<std::int64_t, std::string, std::int64_t>> processes;
  for (const RankSummary& rank : ranks)
    processes.emplace(rank.header.rank, std::string(rank.header.host), rank.header.process);
  return processes;
}

// Whether a process that ran at another time is not of this run: the run has these ranks, or is another job.
bool is_of_earlier_run(const Run& earlier, const Run& newest) {
  std::set<std::int64_t> there;
  for (const ProcessTraces& process : newest)
    for (const FileTotals& file : process.files) there.insert(file.rank.header.rank);
  const std::int64_t ranks = newest.front().files.front().rank.header.ranks;
  return std::ranges::any_of(earlier, [&](const ProcessTraces& process) {
    return std::ranges::any_of(process.files, [&](const FileTotals& file) {
      const TraceHeader& header = file.rank.header;
      return there.contains(header.rank) || header.ranks != ranks || header.rank >= ranks;
    });
  });
}

// Of the processes of one rank the one that was started last, and those that ran next to it.
std::vector<FileTotals> latest_of_each_rank(const Run& run) {
  std::map<std::int64_t, const ProcessTraces*> last;
  for (const ProcessTraces& process : run)
    for (const FileTotals& file : process.files) {
      const ProcessTraces*& known = last[file.rank.header.rank];
      if (known == nullptr || known->begin < process.begin) known = &process;
    }
  std::vector<FileTotals> chosen;
  for (const ProcessTraces& process : run)
    for (const FileTotals& file : process.files)
      if (simultaneous(process, *last.at(file.rank.header.rank))) chosen.push_back(file);
  return chosen;
}

// The traces of the newest run, in the order in which they are shown.
std::vector<FileTotals> newest_run(std::map<TraceProcess, ProcessTraces> processes, std::vector<std::string>& notes) {
  std::size_t files = 0;
  for (const auto& [id, process] : processes) files += process.files.size();
  std::vector<Run> runs = runs_of(std::move(processes));
  Run run = std::move(runs.front());
  for (auto earlier = runs.begin() + 1; earlier != runs.end(); ++earlier)
    if (!is_of_earlier_run(*earlier, run)) std::ranges::move(*earlier, std::back_inserter(run));
  std::vector<FileTotals> chosen = latest_of_each_rank(run);
  if (const std::size_t older = files - chosen.size(); older > 0)
    notes.push_back("traces of earlier runs that are left out: " + std::to_string(older));
  std::ranges::stable_sort(chosen, {}, [](const FileTotals& file) {
    return std::tuple(file.rank.header.rank, file.process, file.rank.header.device);
  });
  return chosen;
}

// Most ranks have one process with one device.
void give_names(std::vector<FileTotals>& files, std::vector<std::string>& notes) {
  std::map<std::int64_t, std::set<TraceProcess>> processes;
  std::map<std::pair<std::int64_t, TraceProcess>, std::size_t> devices;
  for (const FileTotals& file : files) {
    const std::int64_t rank = file.rank.header.rank;
    processes[rank].insert(file.process);
    ++devices[{rank, file.process}];
  }
  for (FileTotals& file : files) {
    const TraceHeader& header = file.rank.header;
    const std::set<TraceProcess>& all = processes[header.rank];
    std::string& name = file.rank.name;
    name = std::to_string(header.rank);
    if (devices[{header.rank, file.process}] > 1) name += "/" + std::to_string(header.device);
    if (all.size() > 1) {
      const bool one_host = all.begin()->host == all.rbegin()->host;
      name += " (" + (one_host ? "" : printable(header.host) + ":") + std::to_string(header.process) + ")";
    }
  }
  for (const auto& [rank, all] : processes)
    if (all.size() > 1)
      notes.push_back("at the same time " + std::to_string(all.size()) + " processes were rank " +
                      std::to_string(rank) +
                      ": no launcher gave them one (RANK and WORLD_SIZE), so each took that of " +
                      "its first communicator; or two jobs wrote here");
}

// Why nothing was filled, for a rank that had a fill job.
void add_unfilled_note(const RankSummary& rank, const std::string& label, std::vector<std::string>& notes) {
  std::string reasons;
  const auto& unfilled = rank.totals.unfilled;
  for (std::size_t i = 0; i < unfilled.size(); ++i)
    if (unfilled[i] > 0)
      reasons += (reasons.empty() ? "" : ", ") + std::string(unfilled_names[i]) + " " + std::to_string(unfilled[i]);
  if (!reasons.empty()) notes.push_back(label + "bubbles without a slice: " + reasons);
}

void add_damage_notes(const FileTotals& file, const std::string& label, std::vector<std::string>& notes) {
  const TraceDamage& damage = file.damage;
  const std::string path = printable(file.path);
  const auto number = [](const LineCount& lines) {
    return std::to_string(lines.lines) + (lines.lines == 1 ? " line" : " lines");
  };
  const auto first = [&](const LineCount& lines) {
    return (lines.lines == 1 ? ": " : ", the first is ") + path + ":" + std::to_string(lines.first);
  };
  if (file.doubts.count() > 0)
    notes.push_back(label + "its numbers are unsure and left out of the totals: " + file.doubts.text(file.path));
  if (damage.error != 0) notes.push_back(label + path + " could be read in part only: " + std::strerror(damage.error));
  if (damage.cut_off.lines > 0 && file.rank.complete)
    notes.push_back(label + "the last line breaks off" + first(damage.cut_off));
  if (damage.unreadable.lines > 0)
    notes.push_back(label + number(damage.unreadable) + " not readable" + first(damage.unreadable));
  if (damage.too_long.lines > 0)
    notes.push_back(label + number(damage.too_long) + " longer than " + std::to_string(most_line_bytes) +
                    " bytes, skipped" + first(damage.too_long));
  if (file.bubbles_without_slot > 0)
    notes.push_back(label + "there are too many slots to show: " + std::to_string(file.bubbles_without_slot) +
                    " bubbles are not among those with the most idle time");
}

void add_notes(const FileTotals& file, std::vector<std::string>& notes) {
  const RankSummary& rank = file.rank;
  const std::string label = "rank " + rank.name + ": ";
  if (!rank.complete)
    notes.push_back(label +
                    "no summary was written (killed, or ended without destroying its communicators); its numbers come "
                    "from its records" +
                    (file.limited ? ", and cover only what fitted into WEFT_TRACE_LIMIT" : ""));
  else if (file.limited)
    notes.push_back(label +
                    "its trace has reached WEFT_TRACE_LIMIT: causes, slots and forecast errors cover only its " +
                    "first part, the other numbers all of it");
  if (file.segments_of_others > 0)
    notes.push_back(
        label + "of earlier processes in the same file that are left out: " + std::to_string(file.segments_of_others));
  add_damage_notes(file, label, notes);
  if (rank.totals.filling_stopped) notes.push_back(label + "filling was stopped: " + printable(rank.totals.reason));
  if (rank.totals.fill_units == 0) add_unfilled_note(rank, label, notes);
  if (rank.totals.dropped_records > 0)
    notes.push_back(label + std::to_string(rank.totals.dropped_records) + " records were dropped");
}

// One note for all ranks that share a reason: as a rule it is the same everywhere.
void add_unknown_idle_notes(RunSummary& run) {
  constexpr std::size_t most_names = 8;
  std::map<std::string, std::vector<std::string>> ranks;
  for (const RankSummary& rank : run.ranks)
    if (!is_measured(rank.header)) ranks[std::string(rank.header.idle_unknown)].push_back(rank.name);
  for (const auto& [reason, names] : ranks) {
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i) list += (i == 0 ? " " : ", ") + names[i];
    if (names.size() > most_names) list += " and " + std::to_string(names.size() - most_names) + " more";
    run.notes.push_back("idle time unknown, bubbles were not measured, on " +
                        (names.size() == run.ranks.size() ? "all ranks" : "rank" + list) + ": " + printable(reason));
  }
}

void add_missing_ranks(RunSummary& run) {
  std::int64_t expected = 0;
  std::set<std::int64_t> there;
  for (const RankSummary& rank : run.ranks) {
    if (!rank.unsure) expected = std::max<std::int64_t>(expected, rank.header.ranks);
    there.insert(rank.header.rank);
  }
  // Where processes share a rank their numbers say nothing of how many there are.
  if (processes_of_ranks(run.ranks).size() > there.size()) return;
  const auto missing = expected - static_cast<std::int64_t>(there.size());
  if (missing > 0)
    run.notes.push_back("the job has " + std::to_string(expected) + " ranks; " + std::to_string(missing) +
                        " left no trace here");
}

void add_up(RunSummary& run) {
  constexpr std::size_t most_slots = 5;
  std::vector<Duration> medians;
  std::vector<double> errors;
  std::uint64_t iterations = 0;
  bool any_measured = false;
  RecordText idle_unknown;
  for (std::size_t index = 0; index < run.ranks.size(); ++index) {
    const RankSummary& rank = run.ranks[index];
    run.total.unsure = run.total.unsure || rank.unsure;
    if (rank.unsure) continue;
    add_up(run.total.totals, rank.totals);
    if (is_measured(rank.header)) {
      any_measured = true;
      add_to(run.total.window, rank.window);
    } else if (idle_unknown.empty()) {
      idle_unknown = rank.header.idle_unknown;
    }
    for (const auto& [cause, idle] : rank.idle_by_cause) add_to(run.total.idle_by_cause[cause], idle);
    run.total.complete = run.total.complete && rank.complete;
    iterations = std::max(iterations, rank.totals.iterations);
    if (rank.totals.iterations > 0) medians.push_back(rank.totals.iteration_median);
    if (rank.forecast_error) errors.push_back(*rank.forecast_error);
    run.total.forecasts += rank.forecasts;
    for (const SlotTotals& slot : rank.slots) run.longest.push_back({slot, index});
  }
  if (!any_measured) run.total.header.idle_unknown = idle_unknown;
  run.total.totals.idle_known = is_measured(run.total.header);
  run.total.totals.iterations = iterations;
  run.total.totals.iteration_median = median(std::move(medians));
  if (!errors.empty()) run.total.forecast_error = median(std::move(errors));
  std::stable_sort(run.longest.begin(), run.longest.end(),
                   [](const RankSlot& left, const RankSlot& right) { return left.slot.idle > right.slot.idle; });
  if (run.longest.size() > most_slots) run.longest.resize(most_slots);
}

}  // namespace

double RankSummary::idle_share() const {
  return window > Duration{} ? static_cast<double>(totals.idle.count()) / static_cast<double>(window.count()) : 0.0;
}

double RankSummary::conversion() const {
  const auto idle = static_cast<double>(totals.idle.count());
  return idle > 0 ? static_cast<double>(totals.filled.count()) / idle : 0.0;
}

RunSummary summarize_directories(const std::vector<std::string>& directories) {
  RunSummary run;
  std::vector<std::string> left_out;
  std::map<TraceProcess, ProcessTraces> processes;
  for (const std::string& directory : directories) read_directory(directory, processes, left_out);
  if (processes.empty() && !left_out.empty()) throw std::runtime_error(left_out.front());
  if (processes.empty())
    throw std::runtime_error("there are no traces (rank*.jsonl) in " +
                             (directories.size() == 1 ? printable(directories.front()) : "these directories"));
  for (std::string& note : left_out) note += "; it is left out";
  std::vector<FileTotals> files = newest_run(std::move(processes), left_out);
  give_names(files, left_out);
  for (const FileTotals& file : files) {
    run.ranks.push_back(file.rank);
    add_notes(file, run.notes);
  }
  run.notes.insert(run.notes.end(), left_out.begin(), left_out.end());
  add_unknown_idle_notes(run);
  add_missing_ranks(run);
  add_up(run);
  return run;
}

}  // namespace weft
