// Line by line into sums; see the header.
#include "trace/read/file_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "trace/read/sample.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::size_t most_values = 65536, most_values_of_slot = 4096;

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

class Adder : public TraceSink {
 public:
  void header(json line) override {
    end_segment();
    const TraceProcess process{text(line, "host"), integer(line, "process"), integer(line, "start_id")};
    if (result_.has_header && process != result_.process) *this = Adder(result_.segments_of_others + segments_);
    RankSummary& sum = result_.rank;
    sum.rank = integer(line, "rank");
    sum.ranks = integer(line, "ranks");
    sum.device = integer(line, "device");
    sum.process = integer(line, "process");
    sum.host = text(line, "host");
    sum.mode = text(line, "mode");
    sum.fill_job = text(line, "fill_job");
    result_.process = process;
    started_ = duration(line, "started");
    wall_clock_ = duration(line, "wall_clock");
    if (!result_.has_header) result_.begin = result_.end = wall_clock_;
    result_.has_header = true;
    ++segments_;
  }

  void record(json line) override {
    last_ = std::max(last_, duration(line, "time"));
    const std::string type = text(line, "type");
    if (type == "bubble") take_bubble(line);
    if (type == "slice") take_slice(line);
    if (type == "iteration") take_iteration(line);
    if (type == "forecast") take_forecast(line);
    if (type == "slowdown") counted_.slowdown = slowdown_of(line);
    if (type == "limit") result_.limited = true;
    if (type == "anomaly" && is(line, "stops_filling", true) && !counted_.filling_stopped) {
      counted_.filling_stopped = true;
      counted_.reason = text(line, "text");
    }
  }

  void summary(json line) override {
    last_ = std::max(last_, duration(line, "window_end"));
    summary_ = std::move(line);
  }

  FileTotals result() {
    end_segment();
    RankSummary& sum = result_.rank;
    // Records behind the limit are not there: then the process knows better how long its iterations were.
    sum.iteration_median = result_.limited && medians_.seen() > 0 ? medians_.median() : iterations_.median();
    sum.forecasts = errors_.seen();
    if (sum.forecasts > 0) sum.forecast_error = errors_.median();
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

  explicit Adder(std::uint64_t segments_of_others = 0) { result_.segments_of_others = segments_of_others; }

 private:
  using SlotKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint64_t, std::string>;
  struct Slot {
    Duration idle{};
    Sample<Duration> lengths{most_values_of_slot};
  };

  void end_segment() {
    if (!result_.has_header) return;
    if (begin_ < end_) counted_.window = Duration(end_ - begin_);
    if (summary_.is_object())
      take_totals(summary_);
    else
      result_.rank.complete = false;
    add_counts(result_.rank, counted_);
    result_.end = std::max({result_.end, wall_clock_, wall_clock_ + last_ - started_});
    counted_ = {};
    summary_ = nullptr;
    begin_ = std::numeric_limits<std::int64_t>::max();
    end_ = 0;
    last_ = {};
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

  void take_bubble(const json& bubble) {
    const Duration length = duration(bubble, "closed") - duration(bubble, "opened");
    ++counted_.bubbles;
    counted_.idle += length;
    counted_.idle_by_cause[text(bubble, "cause")] += length;
    widen(integer(bubble, "opened"), integer(bubble, "closed"));
    Slot& slot = slots_[{integer(bubble, "ordinal", -1), integer(bubble, "send_peer", -1),
                         integer(bubble, "receive_peer", -1), count(bubble, "bytes"), text(bubble, "cause")}];
    slot.idle += length;
    slot.lengths.add(length);
  }

  void take_slice(const json& slice) {
    ++counted_.slices;
    counted_.filled += duration(slice, "alone");
    if (!is(slice, "unit_done", true)) return;
    ++counted_.fill_units;
    if (is(slice, "correct", false)) ++counted_.fill_units_wrong;
  }

  void take_iteration(const json& iteration) {
    ++counted_.iterations;
    iterations_.add(duration(iteration, "ended") - duration(iteration, "started"));
    widen(integer(iteration, "started"), integer(iteration, "ended"));
  }

  void take_forecast(const json& forecast) {
    const auto real = static_cast<double>(integer(forecast, "real"));
    if (real <= 0) return;
    errors_.add(std::abs(static_cast<double>(integer(forecast, "median")) - real) / real);
  }

  // The process's own totals are better than what its records say: records can be dropped.
  void take_totals(const json& summary) {
    if (integer(summary, "iteration_median") > 0) medians_.add(duration(summary, "iteration_median"));
    counted_.window = duration(summary, "window_end") - duration(summary, "window_begin");
    counted_.iterations = count(summary, "iterations");
    counted_.bubbles = count(summary, "bubbles");
    counted_.idle = duration(summary, "idle");
    counted_.filled = duration(summary, "filled");
    counted_.slices = count(summary, "slices");
    counted_.fill_units = count(summary, "fill_units");
    counted_.fill_units_wrong = count(summary, "fill_units_wrong");
    counted_.dropped_records = count(summary, "dropped_records");
    counted_.records_left_out = count(summary, "records_left_out");
    if (const auto unfilled = summary.find("unfilled"); unfilled != summary.end() && unfilled->is_object())
      for (const auto& [reason, bubbles] : unfilled->items())
        counted_.unfilled[reason] += count(*unfilled, reason.c_str());
    const auto slowdown = summary.find("slowdown");
    if (slowdown != summary.end() && slowdown->is_object()) counted_.slowdown = slowdown_of(*slowdown);
    counted_.filling_stopped = is(summary, "filling_stopped", true);
    counted_.reason = text(summary, "reason");
  }

  FileTotals result_;
  std::uint64_t segments_ = 0;
  Sample<Duration> iterations_{most_values}, medians_{most_values};
  Sample<double> errors_{most_values};
  std::map<SlotKey, Slot> slots_;

  // Of the segment that is being read.
  RankSummary counted_;
  json summary_;
  Duration started_{}, wall_clock_{}, last_{};
  std::int64_t begin_ = std::numeric_limits<std::int64_t>::max(), end_ = 0;
};

// Whether the first says more of what filling cost: it is known, and it is more.
bool is_worse(const std::optional<SlowdownSummary>& one, const std::optional<SlowdownSummary>& other) {
  if (!one || !other) return one.has_value();
  if ((one->control == 0) != (other->control == 0)) return one->control != 0;
  return one->estimate > other->estimate;
}

}  // namespace

void add_counts(RankSummary& sum, const RankSummary& part) {
  sum.iterations += part.iterations;
  sum.bubbles += part.bubbles;
  sum.slices += part.slices;
  sum.fill_units += part.fill_units;
  sum.fill_units_wrong += part.fill_units_wrong;
  sum.dropped_records += part.dropped_records;
  sum.records_left_out += part.records_left_out;
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

FileTotals add_up_file(const std::string& path) {
  Adder adder;
  const TraceDamage damage = read_trace(path, adder);
  FileTotals totals = adder.result();
  totals.damage = damage;
  return totals;
}

}  // namespace weft
