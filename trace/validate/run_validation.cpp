// See the header. Which truth file belongs to which trace: host, process and start of the process are the same.
#include "trace/validate/run_validation.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <system_error>

#include "trace/formatted.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr double most_missing = 0.001;  // of the records: the last kernels of a run may have no time stamps yet
constexpr std::int64_t longest_silence = 100'000'000;  // ns from CUPTI's last record to the end of the window

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
  return paths;
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

std::int64_t nanoseconds(TimePoint time) {
  return time.time_since_epoch().count();
}

// A trace as times alone. A segment without summary ends with its last bubble.
class ReportReader : public TraceSink {
 public:
  void header(const TraceHeader&, const TraceLine&) override { end_segment(); }
  void record(const Record& record, const TraceLine&) override {
    if (record.kind == RecordKind::bubble) {
      add(reported_.bubbles, record.bubble.opened, record.bubble.closed);
    } else if (record.kind == RecordKind::uncertain) {
      add(reported_.uncertain, record.uncertain.began, record.uncertain.ended);
    } else if (record.kind == RecordKind::slice) {
      ++reported_.slices;
      reported_.fill_alone += record.slice.alone.count();
    } else if (record.kind == RecordKind::limit) {
      limited_ = true;
    }
  }
  void summary(const TraceSummary& summary, const TraceLine&) override {
    const Span window{nanoseconds(summary.window_begin), nanoseconds(summary.window_end)};
    if (is_time(window.begin) && is_time(window.end)) segment_ = window;
    end_segment();
    ended_ = true;
  }
  Reported take() {
    if (segment_.length() > 0) end_segment();
    return std::move(reported_);
  }
  bool ended() const { return ended_; }  // after take(): the last segment has a summary
  bool limited() const { return limited_; }

 private:
  // A trace may come from a broken disk: the summary's notes tell of that.
  void add(AnySpans& spans, TimePoint begin, TimePoint end) {
    const Span span{nanoseconds(begin), nanoseconds(end)};
    if (!is_time(span.begin) || !is_time(span.end) || span.end < span.begin) return;
    spans.push_back(span);
    extend(span);
  }
  void extend(const Span& span) {
    segment_ =
        segment_.length() == 0 ? span : Span{std::min(segment_.begin, span.begin), std::max(segment_.end, span.end)};
  }
  void end_segment() {
    if (segment_.length() > 0) reported_.windows.push_back(segment_);
    segment_ = {};
    ended_ = false;
  }
  Reported reported_;
  Span segment_;
  bool ended_ = false, limited_ = false;
};

void note_what_is_missing(const TruthFile& truth, const ReportReader& trace, RankValidation& rank) {
  const auto note = [&](std::uint64_t number_of, const char* what) {
    if (number_of > 0) rank.notes.push_back(formatted("%llu %s: the truth is partial", number(number_of), what));
  };
  note(truth.dropped, "records were dropped by CUPTI");
  note(truth.untimed, "records have no time stamps");
  note(truth.unreadable, "buffers could not be read to their end");
  note(truth.unwritten, "lines were not written (WEFT_TRACE_LIMIT, a full disk)");
  note(truth.bad_lines, "lines of the truth file say nothing");
  if (!truth.ended) rank.notes.push_back("the truth file has no end line: the process was killed, or still runs");
  if (!trace.ended()) rank.notes.push_back("the trace has no summary: its window ends with the last bubble");
  if (trace.limited()) rank.notes.push_back("the trace has reached WEFT_TRACE_LIMIT: later bubbles count as missed");
}

// Another profiler that registers its own callbacks takes the records from then on: what comes after the last record is
// not known.
Span known_to_the_last_record(const TruthFile& truth, const DeviceTruth& device, const Reported& reported,
                              RankValidation& rank) {
  Span known = truth.known;
  const Spans windows = united(reported.windows);
  if (windows.empty() || device.communication.empty()) return known;
  const std::int64_t end = std::min(windows.back().end, known.end), last = device.communication.back().end;
  if (end - last <= longest_silence) return known;
  rank.notes.push_back(
      formatted("no NCCL kernel was recorded in the last %.1f s: another profiler may have taken CUPTI; "
                "only what came before is compared",
                static_cast<double>(end - last) / 1e9));
  known.end = last;
  return known;
}

void compare_rank(const FileTotals& file, const TruthFile& truth, const RunValidation& run, RankValidation& rank) {
  rank.cupti = truth.cupti;
  rank.clock_uncertainty = truth.clock_uncertainty;
  rank.dropped = truth.dropped;
  const auto device = truth.devices.find(file.rank.header.device);
  if (!truth.off.empty()) return void(rank.nothing = printable(truth.off));
  if (device == truth.devices.end()) return void(rank.nothing = "the truth file does not know its device");
  if (device->second.communication.empty())
    return void(rank.nothing = device->second.compute.empty()
                                   ? "CUPTI has recorded nothing"
                                   : "CUPTI has recorded no kernel of NCCL: its kernels have other names, or none ran");
  ReportReader trace;
  read_trace(file.path, trace);
  const Reported reported = trace.take();
  note_what_is_missing(truth, trace, rank);
  const Span known = known_to_the_last_record(truth, device->second, reported, rank);
  rank.comparison = compare(reported, device->second, known, run.shortest);
  if (!is_measured(file.rank.header))
    rank.notes.push_back("Weft did not measure idle time: " + printable(file.rank.header.idle_unknown));
  rank.undecided = truth.missing() > most_missing * static_cast<double>(truth.records);
  if (!rank.undecided) rank.faults = faults(rank.comparison, run.bounds);
}

}  // namespace

std::size_t RunValidation::compared() const {
  return static_cast<std::size_t>(std::ranges::count_if(ranks, [](const auto& rank) { return rank.nothing.empty(); }));
}

std::size_t RunValidation::decided() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ranks, [](const auto& rank) { return rank.nothing.empty() && !rank.undecided; }));
}

bool RunValidation::agrees() const {
  return !ranks.empty() && decided() == ranks.size() &&
         std::ranges::all_of(ranks, [](const RankValidation& rank) { return rank.faults.empty(); });
}

bool has_truth(const std::vector<std::string>& directories) {
  return !truths_in(directories).empty();
}

RunValidation validate_directories(const std::vector<std::string>& directories, const Bounds& bounds,
                                   std::int64_t shortest) {
  RunValidation run;
  run.bounds = bounds;
  run.shortest = shortest;
  const std::vector<FileTotals> files = newest_run(directories, run.notes);
  const Truths truths = read_truths(directories, run.notes);
  for (const FileTotals& file : files) {
    RankValidation& rank = run.ranks.emplace_back();
    rank.name = file.rank.name;
    rank.rank = file.rank.header.rank;
    rank.device = file.rank.header.device;
    const auto truth = truths.find(file.process);
    if (truth == truths.end())
      rank.nothing = "there is no truth file: the run was without WEFT_VALIDATE";
    else
      compare_rank(file, truth->second, run, rank);
  }
  return run;
}

}  // namespace weft
