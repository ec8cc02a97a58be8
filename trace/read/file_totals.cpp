// Line by line into sums; see the header.
#include "trace/read/file_totals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "trace/read/printable.h"
#include "trace/read/sample.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::size_t most_values = 65536, most_values_of_slot = 4096;
// A trace of Weft stays far below these; they bound the memory that one from elsewhere can take.
constexpr std::size_t most_slots = 4096, most_names = 16;

// The one of that name; of more than most_names names the rest are one, "other".
template <class Value>
Value& of_name(std::map<std::string, Value>& values, const std::string& name) {
  return values.size() < most_names || values.contains(name) ? values[name] : values["other"];
}

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

// From a header to the next one.
struct Segment {
  RankSummary counted;
  json summary;
  std::uint64_t line = 0;  // of the summary, else of the last record
  Duration started{}, wall_clock{}, last{};
  Duration begin = Duration::max(), end{};  // of what the records tell
  Longest bubble, iteration;

  void widen(Duration from, Duration to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

// What no single line shows to be impossible. A hundredth and 100 ms are left for rounding, and for a slice that ends
// after its bubble.
void doubt_totals(const Segment& segment, Doubts& doubts) {
  const RankSummary& counted = segment.counted;
  const Duration slack = counted.window / 100 + std::chrono::milliseconds(100);
  const Duration window = counted.window + slack;
  if (segment.bubble.length > window) doubts.add(segment.bubble.line, "a bubble is longer than the whole run");
  if (segment.iteration.length > window)
    doubts.add(segment.iteration.line, "an iteration is longer than the whole run");
  if (counted.iteration_median > window) doubts.add(segment.line, "`iteration_median` is longer than the whole run");
  if (counted.idle > window) doubts.add(segment.line, "more idle time than the run is long");
  // On a clock that has slowed down a slice takes less than alone, but not a quarter.
  if (counted.filled > window || counted.filled / 4 > counted.idle + slack)
    doubts.add(segment.line, "more filled than there was idle time");
  if (counted.fill_units_wrong > counted.fill_units) doubts.add(segment.line, "more wrong units than units");
}

class Adder : public TraceSink {
 public:
  explicit Adder(std::uint64_t segments_of_others = 0) { result_.segments_of_others = segments_of_others; }

  void header(json line, std::uint64_t number) override {
    end_segment();
    Doubts doubts;
    LineValues values(line, number, doubts);
    const TraceProcess process{values.text("host"), values.integer("process"), values.integer("start_id")};
    if (result_.has_header && process != result_.process) *this = Adder(result_.segments_of_others + segments_);
    RankSummary& sum = result_.rank;
    sum.rank = values.integer("rank");
    if (sum.rank < 0) values.doubt("`rank` cannot be negative");
    sum.ranks = static_cast<std::int64_t>(values.count("ranks"));
    sum.device = values.integer("device");
    sum.process = process.process;
    sum.host = process.host;
    sum.mode = values.text("mode");
    sum.fill_job = values.text("fill_job");
    if (sum.idle_unknown.empty()) sum.idle_unknown = values.text("idle_unknown");
    result_.process = process;
    segment_.line = number;
    segment_.started = values.time("started");
    segment_.wall_clock = values.time("wall_clock");
    if (segment_.wall_clock > tomorrow()) {
      values.doubt("`wall_clock` is in the future");
      segment_.wall_clock = {};  // else this would be the newest run, and all others would be left out
    }
    if (!values.sound()) result_.doubts.add(doubts);
    if (!result_.has_header) result_.begin = result_.end = segment_.wall_clock;
    result_.has_header = true;
    ++segments_;
  }

  void record(json line, std::uint64_t number) override {
    if (!segment_.summary.is_object()) segment_.line = number;
    LineValues values(line, number, result_.doubts);
    segment_.last = std::max(segment_.last, values.time("time"));
    const std::string type = values.text("type");
    if (type == "bubble") take_bubble(values);
    if (type == "slice") take_slice(values);
    if (type == "iteration") take_iteration(values);
    if (type == "forecast") take_forecast(values);
    if (type == "slowdown") segment_.counted.slowdown = slowdown_of(values);
    if (type == "limit") result_.limited = true;
    if (type == "anomaly" && values.is("stops_filling", true) && !segment_.counted.filling_stopped) {
      segment_.counted.filling_stopped = true;
      segment_.counted.reason = values.text("text");
    }
  }

  void summary(json line, std::uint64_t number) override {
    segment_.line = number;
    segment_.summary = std::move(line);
  }

  FileTotals result() {
    end_segment();
    RankSummary& sum = result_.rank;
    // Records behind the limit are not there: then the process knows better how long its iterations were.
    sum.iteration_median = result_.limited && medians_.seen() > 0 ? medians_.median() : iterations_.median();
    sum.forecasts = errors_.seen();
    if (sum.forecasts > 0) sum.forecast_error = errors_.median();
    sum.unsure = result_.doubts.count() > 0;
    for (const auto& [key, slot] : slots_) {
      const auto& [ordinal, send_peer, receive_peer, bytes, cause] = key;
      SlotSummary entry;
      entry.rank = sum.rank;
      entry.ordinal = ordinal;
      entry.send_peer = send_peer;
      entry.receive_peer = receive_peer;
      entry.bytes = bytes;
      entry.cause = cause;
      entry.bubbles = slot.lengths.seen();
      entry.idle = slot.idle;
      entry.median = slot.lengths.median();
      entry.process = sum.process;
      sum.slots.push_back(std::move(entry));
    }
    return result_;
  }

 private:
  using SlotKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint64_t, std::string>;
  struct Slot {
    Duration idle{};
    Sample<Duration> lengths{most_values_of_slot};
  };

  void end_segment() {
    if (!result_.has_header) return;
    if (segment_.begin < segment_.end) segment_.counted.window = segment_.end - segment_.begin;
    if (segment_.summary.is_object())
      take_totals(LineValues(segment_.summary, segment_.line, result_.doubts));
    else
      result_.rank.complete = false;
    doubt_totals(segment_, result_.doubts);
    add_counts(result_.rank, segment_.counted);
    const Duration end = std::min(segment_.wall_clock + (segment_.last - segment_.started), tomorrow());
    result_.end = std::max({result_.end, segment_.wall_clock, end});
    segment_ = {};
  }

  static SlowdownSummary slowdown_of(LineValues& values) {
    return {values.fraction("estimate"), values.fraction("low"),    values.fraction("high"),    values.count("control"),
            values.count("filled"),      values.fraction("budget"), values.fraction("share", 1)};
  }

  void take_bubble(LineValues& bubble) {
    const Duration length = bubble.between("opened", "closed");
    const SlotKey key{bubble.integer("ordinal", -1), bubble.integer("send_peer", -1),
                      bubble.integer("receive_peer", -1), bubble.count("bytes"), bubble.text("cause")};
    if (!bubble.sound()) return;
    ++segment_.counted.bubbles;
    add_to(segment_.counted.idle, length);
    add_to(of_name(segment_.counted.idle_by_cause, bubble.text("cause")), length);
    segment_.bubble.add(length, bubble.number());
    segment_.widen(bubble.time("opened"), bubble.time("closed"));
    if (slots_.size() >= most_slots && !slots_.contains(key)) {
      ++result_.bubbles_without_slot;
      return;
    }
    Slot& slot = slots_[key];
    add_to(slot.idle, length);
    slot.lengths.add(length);
  }

  void take_slice(LineValues& slice) {
    slice.between("launched", "finished");
    const Duration alone = slice.needed_time("alone");
    if (!slice.sound()) return;
    ++segment_.counted.slices;
    add_to(segment_.counted.filled, alone);
    if (!slice.is("unit_done", true)) return;
    ++segment_.counted.fill_units;
    if (slice.is("correct", false)) ++segment_.counted.fill_units_wrong;
  }

  void take_iteration(LineValues& iteration) {
    const Duration length = iteration.between("started", "ended");
    if (!iteration.sound()) return;
    ++segment_.counted.iterations;
    iterations_.add(length);
    segment_.iteration.add(length, iteration.number());
    segment_.widen(iteration.time("started"), iteration.time("ended"));
  }

  void take_forecast(LineValues& forecast) {
    const double median = static_cast<double>(forecast.time("median").count());
    const double real = static_cast<double>(forecast.time("real").count());
    if (forecast.sound() && real > 0) errors_.add(std::abs(median - real) / real);
  }

  // The process's own totals are better than what its records say: records can be dropped.
  void take_totals(LineValues values) {
    RankSummary totals = segment_.counted;
    const Duration begin = values.time("window_begin"), end = values.time("window_end");
    if (end < begin) values.doubt("`window_end` is before `window_begin`");
    const Duration median = values.time("iteration_median");
    totals.window = end - begin;
    totals.iteration_median = median;
    totals.iterations = values.count("iterations");
    totals.bubbles = values.count("bubbles");
    totals.idle = values.time("idle");
    totals.filled = values.time("filled");
    totals.slices = values.count("slices");
    totals.fill_units = values.count("fill_units");
    totals.fill_units_wrong = values.count("fill_units_wrong");
    totals.dropped_records = values.count("dropped_records");
    totals.records_left_out = values.count("records_left_out");
    const json& summary = segment_.summary;
    if (const auto unfilled = summary.find("unfilled"); unfilled != summary.end() && unfilled->is_object()) {
      LineValues bubbles = values.inside(*unfilled);
      for (const auto& [reason, number] : unfilled->items())
        add_to(of_name(totals.unfilled, shortened(reason, most_text_bytes)), bubbles.count(reason.c_str()));
    }
    if (const auto slowdown = summary.find("slowdown"); slowdown != summary.end() && slowdown->is_object()) {
      LineValues inside = values.inside(*slowdown);
      totals.slowdown = slowdown_of(inside);
    }
    totals.filling_stopped = values.is("filling_stopped", true);
    totals.reason = values.text("reason");
    if (!values.sound()) return;
    segment_.counted = std::move(totals);
    segment_.last = std::max(segment_.last, end);
    if (median > Duration{}) medians_.add(median);
  }

  FileTotals result_;
  std::uint64_t segments_ = 0;
  Segment segment_;
  Sample<Duration> iterations_{most_values}, medians_{most_values};
  Sample<double> errors_{most_values};
  std::map<SlotKey, Slot> slots_;
};

// Whether the first says more of what filling cost: it is known, and it is more.
bool is_worse(const std::optional<SlowdownSummary>& one, const std::optional<SlowdownSummary>& other) {
  if (!one || !other) return one.has_value();
  if ((one->control == 0) != (other->control == 0)) return one->control != 0;
  return one->estimate > other->estimate;
}

}  // namespace

void add_counts(RankSummary& sum, const RankSummary& part) {
  add_to(sum.iterations, part.iterations);
  add_to(sum.bubbles, part.bubbles);
  add_to(sum.slices, part.slices);
  add_to(sum.fill_units, part.fill_units);
  add_to(sum.fill_units_wrong, part.fill_units_wrong);
  add_to(sum.dropped_records, part.dropped_records);
  add_to(sum.records_left_out, part.records_left_out);
  add_to(sum.window, part.window);
  add_to(sum.idle, part.idle);
  add_to(sum.filled, part.filled);
  if (is_worse(part.slowdown, sum.slowdown)) sum.slowdown = part.slowdown;
  for (const auto& [reason, bubbles] : part.unfilled) add_to(of_name(sum.unfilled, reason), bubbles);
  for (const auto& [cause, idle] : part.idle_by_cause) add_to(of_name(sum.idle_by_cause, cause), idle);
  if (part.filling_stopped && !sum.filling_stopped) {
    sum.filling_stopped = true;
    sum.reason = part.reason;
  }
}

FileTotals add_up_file(const std::string& path) {
  Adder adder;
  const TraceDamage damage = read_trace(path, adder);
  FileTotals totals = adder.result();
  totals.damage = damage;
  totals.path = path;
  return totals;
}

}  // namespace weft
