// Line by line into sums; see the header.
#include "trace/read/file_totals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "trace/read/printable.h"
#include "trace/read/slot_totals.h"
#include "trace/sample.h"
#include "trace/totals.h"

namespace weft {
namespace {

constexpr std::size_t most_values = 65536;

// A day is left for clocks that differ.
Duration tomorrow() {
  return std::chrono::system_clock::now().time_since_epoch() + std::chrono::hours(24);
}

// The longest of its kind, and the line that it stands in.
struct Longest {
  Duration length{};
  std::uint64_t line = 0;
  void add(Duration candidate, std::uint64_t number) {
    if (candidate > length) *this = {candidate, number};
  }
};

// A device numbers its bubbles from 1, and writes them in this order.
class BubbleNumbers {
 public:
  void add(std::uint64_t number, std::uint64_t line) {
    if (number <= latest_) return;  // an older Weft wrote none
    if (missing_ == 0 && number > latest_ + 1) line_ = line;
    missing_ += number - latest_ - 1;
    latest_ = number;
  }
  // Beyond so many lost records, whatever those were.
  LineCount missing(std::uint64_t lost) const { return missing_ > lost ? LineCount{missing_, line_} : LineCount{}; }

 private:
  std::uint64_t latest_ = 0, missing_ = 0, line_ = 0;
};

// From a header to the next one.
struct Segment {
  Totals counted;  // from the records
  std::optional<TraceSummary> summary;
  TraceLine summary_line;
  std::uint64_t line = 0;  // the latest, of the summary if there is one
  TimePoint started{}, last{};
  Duration wall_clock{};
  Longest bubble, iteration;
  BubbleNumbers numbers;
};

// It is a part of the rest, and made of the same sums.
void doubt_startup(const Segment& segment, const TraceSummary& totals, Duration most, Doubts& doubts) {
  const StartupRecord& startup = *totals.startup;
  if (startup.length > most) doubts.add(segment.line, "`startup` is longer than the whole run");
  if (startup.idle > totals.idle || startup.uncertain > totals.uncertain || startup.filled > totals.filled)
    doubts.add(segment.line, "more in `startup` than in the whole run");
}

// Doubts totals that no single line shows to be impossible. A hundredth and 100 ms are left for rounding, and for a
// slice that ends after its bubble.
void doubt_totals(const Segment& segment, const TraceSummary& totals, Duration window, Doubts& doubts) {
  const Duration slack = window / 100 + std::chrono::milliseconds(100);
  const Duration most = window + slack;
  if (segment.bubble.length > most) doubts.add(segment.bubble.line, "a bubble is longer than the whole run");
  if (segment.iteration.length > most) doubts.add(segment.iteration.line, "an iteration is longer than the whole run");
  if (totals.iteration_median > most) doubts.add(segment.line, "`iteration_median` is longer than the whole run");
  if (totals.idle > most) doubts.add(segment.line, "more idle time than the run is long");
  if (totals.uncertain > most) doubts.add(segment.line, "more uncertain time than the run is long");
  if (totals.dark > most) doubts.add(segment.line, "more dark time than the run is long");
  // On a clock that has slowed down a slice takes less than alone, but not a quarter.
  if (totals.filled > most || totals.filled / 4 > totals.idle + slack)
    doubts.add(segment.line, "more filled than there was idle time");
  if (totals.startup) doubt_startup(segment, totals, most, doubts);
  if (totals.fill_units_wrong > totals.fill_units) doubts.add(segment.line, "more wrong units than units");
}

class Adder : public TraceSink {
 public:
  explicit Adder(std::uint64_t segments_of_others = 0) {
    result_.segments_of_others = segments_of_others;
    result_.rank.totals.startup.emplace();  // of nothing; known as long as it is that of each segment
  }

  // They are looked at in join.cpp, and are most of the lines.
  bool wants(std::string_view line) const override { return !is_line_of(line, "group"); }

  void header(const TraceHeader& header, const TraceLine& line) override {
    end_segment();
    const TraceProcess process = process_of(header);
    if (result_.has_header && process != result_.process) *this = Adder(result_.segments_of_others + segments_);
    result_.doubts.add(line.doubts);
    // One segment without measured bubbles, and those of the whole are not known.
    const RecordText idle_unknown =
        is_measured(result_.rank.header) ? header.idle_unknown : result_.rank.header.idle_unknown;
    result_.rank.header = header;
    result_.rank.header.idle_unknown = idle_unknown;
    result_.process = process;
    segment_.line = line.number;
    segment_.started = header.started;
    segment_.wall_clock = header.wall_clock;
    if (segment_.wall_clock > tomorrow()) {
      result_.doubts.add(line.number, "`wall_clock` is in the future");
      segment_.wall_clock = {};  // else this would be the newest run, and all others would be left out
    }
    if (!result_.has_header) {
      result_.begin = result_.end = segment_.wall_clock;
      result_.started = result_.last = segment_.started;
    }
    result_.has_header = true;
    ++segments_;
  }

  void record(const Record& record, const TraceLine& line) override {
    if (!segment_.summary) segment_.line = line.number;
    if (record.kind != RecordKind::limit) segment_.last = std::max(segment_.last, record.time);
    result_.doubts.add(line.doubts);
    if (record.kind == RecordKind::bubble) segment_.numbers.add(record.bubble.id, line.number);
    if (!line.sound()) return;
    result_.last = std::max(result_.last, record.time);
    segment_.counted.add(record);
    if (record.kind == RecordKind::bubble) take_bubble(record.bubble, line.number);
    if (record.kind == RecordKind::iteration) take_iteration(record.iteration, line.number);
    if (record.kind == RecordKind::job) take_job(record.job);
    if (record.kind == RecordKind::call_frame) slots_.add(record.call_frame);
    if (record.kind == RecordKind::limit) take_limit(record.time);
  }

  void summary(const TraceSummary& summary, const TraceLine& line) override {
    segment_.line = line.number;
    segment_.summary = summary;
    segment_.summary_line = line;
  }

  FileTotals result() {
    end_segment();
    RankSummary& sum = result_.rank;
    // Records behind the limit are not there: then the process knows better how long its iterations were.
    sum.totals.iteration_median = result_.limited && medians_.seen() > 0 ? medians_.median() : iterations_.median();
    if (iterations_.seen() > 0) {
      sum.iteration_low = iterations_.quantile(0.1);
      sum.iteration_high = iterations_.quantile(0.9);
    }
    if (ends_.seen() > 0) sum.end_uncertainty_high = ends_.quantile(0.9);
    sum.totals.idle_known = is_measured(sum.header);
    if (sum.totals.startup) sum.totals.startup->idle_known = sum.totals.idle_known;
    sum.forecasts = errors_.seen();
    if (sum.forecasts > 0) sum.forecast_error = errors_.median();
    sum.unsure = result_.doubts.count() > 0;
    sum.slots = sum.totals.iterations > 0 ? slots_.totals() : slots_.totals_without_places();
    result_.bubbles_without_slot = slots_.bubbles_without_slot();
    return result_;
  }

 private:
  void end_segment() {
    if (!result_.has_header) return;
    TraceSummary totals = totals_of_segment();
    // An older Weft wrote no line of its job.
    if (totals.jobs.size() == 1 && totals.jobs.begin()->name.empty())
      totals.jobs.begin()->name = std::string_view(result_.rank.header.fill_job);
    const Duration window = std::max(totals.window_end - totals.window_begin, Duration{});
    doubt_totals(segment_, totals, window, result_.doubts);
    add_up(result_.rank.totals, totals);
    note_missing_bubbles(segment_.numbers.missing(totals.dropped_records));
    add_to(result_.rank.window, window);
    add_segment(totals.window_begin, totals.window_begin + window);
    const Duration end = std::min(segment_.wall_clock + (segment_.last - segment_.started), tomorrow());
    result_.end = std::max({result_.end, segment_.wall_clock, end});
    segment_ = {};
  }

  // Behind the last record before the limit nothing is known, nor of later segments.
  void add_segment(TimePoint begin, TimePoint end) {
    if (limit_) end = std::max(begin, std::min(end, *limit_));
    if (result_.segments.size() < FileTotals::most_segments)
      result_.segments.push_back({begin, end});
    else if (begin < end)
      result_.segments.back().end = std::max(result_.segments.back().end, end);
  }

  // It has the time of the first record that is not there.
  void take_limit(TimePoint time) {
    result_.limited = true;
    if (!limit_) limit_ = std::min(time, segment_.last);
  }

  void note_missing_bubbles(const LineCount& missing) {
    LineCount& all = result_.missing_bubbles;
    if (all.lines == 0) all.first = missing.first;
    add_to(all.lines, missing.lines);
  }

  // The process's own totals are better than what its records say: records can be dropped.
  TraceSummary totals_of_segment() {
    if (!segment_.summary) {
      result_.rank.complete = false;
      return segment_.counted.with_startup_and_causes();
    }
    const TraceSummary& summary = *segment_.summary;
    TraceLine& line = segment_.summary_line;
    if (summary.window_end < summary.window_begin)
      line.doubts.add(line.number, "`window_end` is before `window_begin`");
    result_.doubts.add(line.doubts);
    if (!line.sound()) return segment_.counted.with_startup_and_causes();
    segment_.last = std::max(segment_.last, summary.window_end);
    if (summary.iteration_median > Duration{}) medians_.add(summary.iteration_median);
    return summary;
  }

  void take_bubble(const Bubble& bubble, std::uint64_t line) {
    const Duration length = bubble.closed - bubble.opened;
    segment_.bubble.add(length, line);
    add_to(result_.rank.idle_by_cause[name_of(bubble.cause)], length);
    slots_.add(bubble);
    ends_.add(bubble.opened_within);
    ends_.add(bubble.closed_within);
    Duration near = bubble.opened_within;
    add_to(near, bubble.closed_within);
    add_to(result_.rank.idle_near_ends, std::min(near, length));
    if (!bubble.forecast || length <= Duration{}) return;
    const Duration error = bubble.forecast->median - length;
    errors_.add(std::abs(static_cast<double>(error.count())) / static_cast<double>(length.count()));
  }

  void take_job(const JobRecord& job) {
    const bool refused = job.event == JobEvent::refused;
    if (refused && result_.rank.refused.jobs++ == 0) result_.rank.refused.why = printable(job.why);
    if ((!refused && job.event != JobEvent::failed) || result_.rank.lost_jobs.size() >= most_jobs) return;
    result_.rank.lost_jobs.push_back("fill job " + std::to_string(job.job) + ", " + printable(job.name) +
                                     (refused ? ", was not run: " : ", has failed: ") + printable(job.why));
  }

  void take_iteration(const Iteration& iteration, std::uint64_t line) {
    const Duration length = iteration.ended - iteration.started;
    iterations_.add(length);
    if (iteration.said >= 0) result_.rank.said.add(iteration.said);
    segment_.iteration.add(length, line);
  }

  FileTotals result_;
  std::uint64_t segments_ = 0;
  Segment segment_;
  std::optional<TimePoint> limit_;  // all later time has no records
  Sample<Duration> iterations_{most_values}, medians_{most_values}, ends_{most_values};
  Sample<double> errors_{most_values};
  SlotTable slots_;
};

// Hands the same lines to both.
class Both : public TraceSink {
 public:
  Both(Adder& adder, TraceSink& also) : adder_(adder), also_(also) {}
  bool wants(std::string_view line) const override { return adder_.wants(line); }
  void header(const TraceHeader& header, const TraceLine& line) override {
    adder_.header(header, line);
    also_.header(header, line);
  }
  void record(const Record& record, const TraceLine& line) override {
    adder_.record(record, line);
    also_.record(record, line);
  }
  void summary(const TraceSummary& summary, const TraceLine& line) override {
    adder_.summary(summary, line);
    also_.summary(summary, line);
  }

 private:
  Adder& adder_;
  TraceSink& also_;
};

}  // namespace

TraceProcess process_of(const TraceHeader& header) {
  return {std::string(header.host), header.process, header.start_id};
}

FileTotals add_up_file(const std::string& path, ReadProgress* progress, TraceSink* also) {
  Adder adder;
  TraceDamage damage;
  if (also == nullptr) {
    damage = read_trace(path, adder, progress);
  } else {
    Both both(adder, *also);
    damage = read_trace(path, both, progress);
  }
  FileTotals totals = adder.result();
  totals.damage = damage;
  totals.path = path;
  return totals;
}

}  // namespace weft
