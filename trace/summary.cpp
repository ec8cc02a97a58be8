// Adding up; see the header. The two ways to show the result are in summary_text.cpp.
#include "trace/summary.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Values of a record; what is absent or of another type counts as `absent`.
std::int64_t integer(const json& record, const char* key, std::int64_t absent = 0) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number_integer() ? found->get<std::int64_t>() : absent;
}
std::uint64_t count(const json& record, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer(record, key), 0));
}
Duration duration(const json& record, const char* key) {
  return Duration(integer(record, key));
}
double fraction(const json& record, const char* key, double absent = 0) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number() ? found->get<double>() : absent;
}
std::string text(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}
bool is(const json& record, const char* key, bool wanted) {
  const auto found = record.find(key);
  return found != record.end() && found->is_boolean() && found->get<bool>() == wanted;
}

template <class Value>
Value median(std::vector<Value> values) {
  if (values.empty()) return Value{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What one file adds up to while its records are read.
class Adder {
 public:
  void add(const TraceSegment& segment) {
    take_header(segment.header);
    RankSummary counted;
    begin_ = std::numeric_limits<std::int64_t>::max();
    end_ = 0;
    for (const json& record : segment.records) take_record(record, counted);
    if (begin_ < end_) counted.window = Duration(end_ - begin_);
    if (segment.summary.is_object())
      take_summary(segment.summary, counted);
    else
      sum_.complete = false;
    add_totals(counted);
  }

  RankSummary result() {
    sum_.iteration_median = median(iterations_);
    sum_.forecasts = errors_.size();
    if (!errors_.empty()) sum_.forecast_error = median(errors_);
    for (auto& [key, lengths] : slots_) {
      SlotSummary slot{sum_.rank,        std::get<0>(key), std::get<1>(key), std::get<2>(key),
                       std::get<3>(key), lengths.size(),   std::get<4>(key), {},
                       median(lengths)};
      for (const Duration length : lengths) slot.idle += length;
      sum_.slots.push_back(std::move(slot));
    }
    return sum_;
  }

 private:
  using SlotKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint64_t, std::string>;

  void take_header(const json& header) {
    sum_.rank = integer(header, "rank");
    sum_.ranks = integer(header, "ranks");
    sum_.device = integer(header, "device");
    sum_.process = integer(header, "process");
    sum_.host = text(header, "host");
    sum_.mode = text(header, "mode");
    sum_.fill_job = text(header, "fill_job");
  }

  void take_record(const json& record, RankSummary& counted) {
    const std::string type = text(record, "type");
    if (type == "bubble") take_bubble(record, counted);
    if (type == "slice") take_slice(record, counted);
    if (type == "iteration") take_iteration(record, counted);
    if (type == "forecast") take_forecast(record);
    if (type == "slowdown") counted.slowdown = slowdown_of(record);
    if (type == "anomaly" && is(record, "stops_filling", true) && !counted.filling_stopped) {
      counted.filling_stopped = true;
      counted.reason = text(record, "text");
    }
  }

  static SlowdownSummary slowdown_of(const json& record) {
    return {fraction(record, "estimate"), fraction(record, "low"), fraction(record, "high"),
            count(record, "control"),     count(record, "filled"), fraction(record, "budget"),
            fraction(record, "share", 1)};
  }

  void widen(std::int64_t begin, std::int64_t end) {
    begin_ = std::min(begin_, begin);
    end_ = std::max(end_, end);
  }

  void take_bubble(const json& bubble, RankSummary& counted) {
    const Duration length = duration(bubble, "closed") - duration(bubble, "opened");
    ++counted.bubbles;
    counted.idle += length;
    counted.idle_by_cause[text(bubble, "cause")] += length;
    widen(integer(bubble, "opened"), integer(bubble, "closed"));
    slots_[{integer(bubble, "ordinal", -1), integer(bubble, "send_peer", -1), integer(bubble, "receive_peer", -1),
            count(bubble, "bytes"), text(bubble, "cause")}]
        .push_back(length);
  }

  static void take_slice(const json& slice, RankSummary& counted) {
    ++counted.slices;
    counted.filled += duration(slice, "alone");
    if (!is(slice, "unit_done", true)) return;
    ++counted.fill_units;
    if (is(slice, "correct", false)) ++counted.fill_units_wrong;
  }

  void take_iteration(const json& iteration, RankSummary& counted) {
    ++counted.iterations;
    iterations_.push_back(duration(iteration, "ended") - duration(iteration, "started"));
    widen(integer(iteration, "started"), integer(iteration, "ended"));
  }

  void take_forecast(const json& forecast) {
    const auto real = static_cast<double>(integer(forecast, "real"));
    if (real <= 0) return;
    errors_.push_back(std::abs(static_cast<double>(integer(forecast, "median")) - real) / real);
  }

  // The process's own totals are better than what its records say: records can be dropped.
  static void take_summary(const json& summary, RankSummary& counted) {
    counted.window = duration(summary, "window_end") - duration(summary, "window_begin");
    counted.iterations = count(summary, "iterations");
    counted.bubbles = count(summary, "bubbles");
    counted.idle = duration(summary, "idle");
    counted.filled = duration(summary, "filled");
    counted.slices = count(summary, "slices");
    counted.fill_units = count(summary, "fill_units");
    counted.fill_units_wrong = count(summary, "fill_units_wrong");
    counted.dropped_records = count(summary, "dropped_records");
    if (const auto unfilled = summary.find("unfilled"); unfilled != summary.end() && unfilled->is_object())
      for (const auto& [reason, bubbles] : unfilled->items())
        counted.unfilled[reason] += count(*unfilled, reason.c_str());
    const auto slowdown = summary.find("slowdown");
    if (slowdown != summary.end() && slowdown->is_object()) counted.slowdown = slowdown_of(*slowdown);
    counted.filling_stopped = is(summary, "filling_stopped", true);
    counted.reason = text(summary, "reason");
  }

  void add_totals(const RankSummary& counted);

  RankSummary sum_;
  std::vector<Duration> iterations_;
  std::vector<double> errors_;
  std::map<SlotKey, std::vector<Duration>> slots_;
  std::int64_t begin_ = 0, end_ = 0;
};

// Whether the first says more of what filling cost: it is known, and it is more.
bool is_worse(const std::optional<SlowdownSummary>& one, const std::optional<SlowdownSummary>& other) {
  if (!one || !other) return one.has_value();
  if ((one->control == 0) != (other->control == 0)) return one->control != 0;
  return one->estimate > other->estimate;
}

void add_counts(RankSummary& sum, const RankSummary& part) {
  sum.iterations += part.iterations;
  sum.bubbles += part.bubbles;
  sum.slices += part.slices;
  sum.fill_units += part.fill_units;
  sum.fill_units_wrong += part.fill_units_wrong;
  sum.dropped_records += part.dropped_records;
  sum.window += part.window;
  sum.idle += part.idle;
  sum.filled += part.filled;
  if (is_worse(part.slowdown, sum.slowdown)) sum.slowdown = part.slowdown;
  for (const auto& [reason, bubbles] : part.unfilled) sum.unfilled[reason] += bubbles;
  for (const auto& [cause, idle] : part.idle_by_cause) sum.idle_by_cause[cause] += idle;
  if (part.filling_stopped && !sum.filling_stopped) {
    sum.filling_stopped = true;
    sum.reason = part.reason;
  }
}

void Adder::add_totals(const RankSummary& counted) {
  add_counts(sum_, counted);
}

std::int64_t started(const TraceFile& file) {
  return integer(file.segments.back().header, "wall_clock");
}

// Of one process of the job.
bool same_process(const TraceFile& left, const TraceFile& right) {
  const json &one = left.segments.back().header, &other = right.segments.back().header;
  return integer(one, "process") == integer(other, "process") && text(one, "host") == text(other, "host");
}

std::vector<TraceFile> read_directory(const std::string& directory, std::vector<std::string>& notes) {
  if (!fs::exists(directory))
    throw std::runtime_error(directory + " does not exist: mistyped, or no process with an NCCL communicator ran under " +
                             "Weft (see Limits in the README)");
  if (!fs::is_directory(directory)) throw std::runtime_error(directory + " is not a directory");
  std::vector<TraceFile> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("rank") || !name.ends_with(".jsonl")) continue;
    TraceFile file = read_trace(entry.path().string());
    if (file.segments.empty())
      notes.push_back(name + " holds no header and is left out");
    else
      files.push_back(std::move(file));
  }
  return files;
}

// The traces of each rank's process that was started last, by rank and device.
std::multimap<std::pair<std::int64_t, std::int64_t>, TraceFile> latest_traces(std::vector<TraceFile> files,
                                                                              std::vector<std::string>& notes) {
  std::map<std::int64_t, const TraceFile*> last;
  for (const TraceFile& file : files) {
    const TraceFile*& known = last[integer(file.segments.back().header, "rank")];
    if (known == nullptr || started(*known) < started(file)) known = &file;
  }
  std::vector<TraceFile*> chosen;
  for (TraceFile& file : files)
    if (same_process(file, *last[integer(file.segments.back().header, "rank")])) chosen.push_back(&file);
  if (const std::size_t older = files.size() - chosen.size(); older > 0)
    notes.push_back("older traces of the same ranks that are left out: " + std::to_string(older));
  std::multimap<std::pair<std::int64_t, std::int64_t>, TraceFile> latest;
  for (TraceFile* const file : chosen) {
    const json& header = file->segments.back().header;
    const std::pair place(integer(header, "rank"), integer(header, "device"));
    latest.emplace(place, std::move(*file));
  }
  return latest;
}

// Why nothing was filled, for a rank that had a fill job.
void add_unfilled_note(const RankSummary& rank, const std::string& label, std::vector<std::string>& notes) {
  std::string reasons;
  for (const auto& [reason, bubbles] : rank.unfilled)
    if (bubbles > 0) reasons += (reasons.empty() ? "" : ", ") + reason + " " + std::to_string(bubbles);
  if (!reasons.empty()) notes.push_back(label + "bubbles without a slice: " + reasons);
}

void add_notes(const TraceFile& file, const RankSummary& rank, std::vector<std::string>& notes) {
  const std::string label = "rank " + std::to_string(rank.rank) + ": ";
  if (!rank.complete)
    notes.push_back(label +
                    "no summary was written (killed, or ended without destroying its communicators); its numbers come "
                    "from its records");
  if (file.cut_off && rank.complete) notes.push_back(label + "the last line breaks off");
  if (file.unreadable_lines > 0)
    notes.push_back(label + std::to_string(file.unreadable_lines) + " lines are not readable");
  if (rank.filling_stopped) notes.push_back(label + "filling was stopped: " + rank.reason);
  if (rank.fill_units == 0) add_unfilled_note(rank, label, notes);
  if (rank.dropped_records > 0) notes.push_back(label + std::to_string(rank.dropped_records) + " records were dropped");
}

void add_missing_ranks(RunSummary& run) {
  std::int64_t expected = 0;
  std::set<std::int64_t> there;
  for (const RankSummary& rank : run.ranks) {
    expected = std::max(expected, rank.ranks);
    there.insert(rank.rank);
  }
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
  for (const RankSummary& rank : run.ranks) {
    add_counts(run.total, rank);
    run.total.complete = run.total.complete && rank.complete;
    iterations = std::max(iterations, rank.iterations);
    if (rank.iterations > 0) medians.push_back(rank.iteration_median);
    if (rank.forecast_error) errors.push_back(*rank.forecast_error);
    run.total.forecasts += rank.forecasts;
    run.longest.insert(run.longest.end(), rank.slots.begin(), rank.slots.end());
  }
  run.total.iterations = iterations;
  run.total.iteration_median = median(medians);
  if (!errors.empty()) run.total.forecast_error = median(errors);
  std::stable_sort(run.longest.begin(), run.longest.end(),
                   [](const SlotSummary& left, const SlotSummary& right) { return left.idle > right.idle; });
  if (run.longest.size() > most_slots) run.longest.resize(most_slots);
}

}  // namespace

double RankSummary::idle_share() const {
  return window > Duration{} ? static_cast<double>(idle.count()) / static_cast<double>(window.count()) : 0.0;
}

double RankSummary::conversion() const {
  return idle > Duration{} ? static_cast<double>(filled.count()) / static_cast<double>(idle.count()) : 0.0;
}

RankSummary summarize(const TraceFile& file) {
  if (file.segments.empty()) throw std::runtime_error(file.path + " holds no header");
  Adder adder;
  for (const TraceSegment& segment : file.segments) adder.add(segment);
  return adder.result();
}

RunSummary summarize_directories(const std::vector<std::string>& directories) {
  RunSummary run;
  std::vector<std::string> left_out;
  std::vector<TraceFile> files;
  for (const std::string& directory : directories)
    std::ranges::move(read_directory(directory, left_out), std::back_inserter(files));
  if (files.empty())
    throw std::runtime_error("there are no traces (rank*.jsonl) in " +
                             (directories.size() == 1 ? directories.front() : "these directories"));
  for (const auto& [place, file] : latest_traces(std::move(files), left_out)) {
    run.ranks.push_back(summarize(file));
    add_notes(file, run.ranks.back(), run.notes);
  }
  run.notes.insert(run.notes.end(), left_out.begin(), left_out.end());
  add_missing_ranks(run);
  add_up(run);
  return run;
}

}  // namespace weft
