// Which traces make a run; see the header.
#include "trace/read/runs.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "trace/read/below.h"
#include "trace/read/parallel.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// The traces of one process: one for each of its devices.
struct ProcessTraces {
  Duration begin{}, end{};
  std::vector<FileTotals> files;
};
using Run = std::vector<ProcessTraces>;

std::vector<std::string> traces_of(const std::string& directory) {
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
    if (is_trace_name(name)) paths.push_back(entry->path().string());
  }
  if (error) throw std::runtime_error(printable(directory) + " cannot be read: " + error.message());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::vector<std::string> traces_in(const std::vector<std::string>& directories) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories) std::ranges::move(traces_of(directory), std::back_inserter(paths));
  return each_once(paths);
}

namespace {

// Of files of one process. It has several of one device where it was another rank when it opened communicators again.
bool is_copy(const FileTotals& one, const FileTotals& other) {
  const auto what = [](const FileTotals& file) {
    const TraceHeader& header = file.rank.header;
    return std::tuple(header.device, header.rank, std::string_view(header.boot), file.begin);
  };
  return what(one) == what(other);
}

// A copy may have been made while the process still wrote: the one that tells more is kept.
void add_file(ProcessTraces& process, FileTotals file, std::vector<std::string>& left_out) {
  const auto known = std::ranges::find_if(process.files, [&](const FileTotals& other) { return is_copy(file, other); });
  if (known == process.files.end()) return process.files.push_back(std::move(file));
  const auto worth = [](const FileTotals& trace) {
    return std::tuple(!trace.rank.unsure, trace.end, trace.rank.complete);
  };
  if (worth(file) > worth(*known)) std::swap(*known, file);
  left_out.push_back(printable(file.path) + " is a copy of " + printable(known->path));
}

void add_to(std::map<TraceProcess, ProcessTraces>& processes, FileTotals file, std::vector<std::string>& left_out) {
  ProcessTraces& process = processes[file.process];
  const bool first = process.files.empty();
  process.begin = first ? file.begin : std::min(process.begin, file.begin);
  process.end = first ? file.end : std::max(process.end, file.end);
  add_file(process, std::move(file), left_out);
}

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) bytes += size_of_trace(path);
  return bytes;
}

struct ReadFile {
  FileTotals totals;
  std::string failure;  // "": there was none
};

std::vector<ReadFile> read_files(const std::vector<std::string>& paths, ReadProgress* progress, const AlsoReads& also) {
  if (progress != nullptr) progress->begin("looking through the traces", bytes_of(paths));
  std::vector<ReadFile> files(paths.size());
  std::mutex mutex;
  for_each_file(paths.size(), readers_for(paths.size()), [&](std::size_t, std::size_t index) {
    ReaderProgress own(progress, mutex);
    try {
      files[index].totals =
          add_up_file(paths[index], progress == nullptr ? nullptr : &own, also ? also(paths[index]) : nullptr);
    } catch (const std::runtime_error& error) {
      files[index].failure = error.what();
    }
  });
  return files;
}

std::map<TraceProcess, ProcessTraces> read_traces(const std::vector<std::string>& directories,
                                                  std::vector<std::string>& left_out, ReadProgress* progress,
                                                  const AlsoReads& also) {
  std::map<TraceProcess, ProcessTraces> processes;
  const std::vector<std::string> paths = traces_in(directories);
  std::vector<ReadFile> files = read_files(paths, progress, also);
  for (std::size_t index = 0; index < paths.size(); ++index) {
    FileTotals& file = files[index].totals;
    if (!files[index].failure.empty()) {
      left_out.push_back(files[index].failure);
      continue;
    }
    if (!file.has_header) {
      left_out.push_back(printable(paths[index]) + " holds no header");
      continue;
    }
    add_to(processes, std::move(file), left_out);
  }
  return processes;
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

// In the order in which they are shown.
std::vector<FileTotals> newest_of(std::map<TraceProcess, ProcessTraces> processes, std::vector<std::string>& notes) {
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

// With the folders below that have some: demo is given, and demo/trace holds them.
std::string no_traces(const std::vector<std::string>& directories) {
  constexpr std::size_t most_folders = 3;
  std::vector<std::string> below;
  for (const std::string& directory : directories)
    std::ranges::move(folders_with_traces_below(directory), std::back_inserter(below));
  std::string text = "there are no traces (rank*.jsonl) in " +
                     (directories.size() == 1 ? printable(directories.front()) : "these directories");
  for (std::size_t i = 0; i < std::min(below.size(), most_folders); ++i)
    text += (i == 0 ? "; below there are some in " : ", ") + printable(below[i]);
  if (below.size() > most_folders) text += " and " + std::to_string(below.size() - most_folders) + " more";
  return text;
}

}  // namespace

std::vector<FileTotals> newest_run(const std::vector<std::string>& directories, std::vector<std::string>& notes,
                                   ReadProgress* progress, const AlsoReads& also) {
  std::map<TraceProcess, ProcessTraces> processes = read_traces(directories, notes, progress, also);
  if (processes.empty() && !notes.empty()) throw std::runtime_error(notes.front());
  if (processes.empty()) throw std::runtime_error(no_traces(directories));
  for (std::string& note : notes) note += "; it is left out";
  std::vector<FileTotals> files = newest_of(std::move(processes), notes);
  give_names(files, notes);
  return files;
}

std::vector<FileTotals> newest_run_of(std::vector<FileTotals> files, std::vector<std::string>& notes) {
  std::map<TraceProcess, ProcessTraces> processes;
  std::vector<std::string> copies;
  for (FileTotals& file : files) add_to(processes, std::move(file), copies);
  for (const std::string& copy : copies) notes.push_back(copy + "; it is left out");
  std::vector<FileTotals> run = newest_of(std::move(processes), notes);
  give_names(run, notes);
  return run;
}

}  // namespace weft
