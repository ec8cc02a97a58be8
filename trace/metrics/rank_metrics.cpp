// See rank_metrics.h.
#include "trace/metrics/rank_metrics.h"

#include <algorithm>

#include "trace/record_fields.h"
#include "trace/totals.h"

namespace weft {
namespace {

template <std::size_t buckets>
void count_length(LengthHistogram<buckets>& histogram, const std::array<Duration, buckets>& ends, Duration length) {
  const auto bucket = std::ranges::find_if(ends, [&](Duration end) { return length <= end; });
  ++histogram.counts[static_cast<std::size_t>(bucket - ends.begin())];
  add_to(histogram.sum, length);
}

void add_to_all(auto& sums, const auto& parts) {
  for (std::size_t index = 0; index < sums.size(); ++index) add_to(sums[index], parts[index]);
}

RankSums together(const RankSums& one, const RankSums& other) {
  RankSums sum = one;
  for (const auto member :
       {&RankSums::window, &RankSums::uncertain, &RankSums::dark, &RankSums::filled, &RankSums::idle_not_recorded})
    add_to(sum.*member, other.*member);
  add_to_all(sum.idle, other.idle);
  add_to_all(sum.bubbles, other.bubbles);
  for (const auto member :
       {&RankSums::bubbles_not_recorded, &RankSums::iterations, &RankSums::slices, &RankSums::units_right,
        &RankSums::units_wrong, &RankSums::units_unchecked, &RankSums::units_not_recorded, &RankSums::missing_bubbles})
    add_to(sum.*member, other.*member);
  return sum;
}

template <class Number>
Number sum_of(const auto& parts, Number sum) {
  for (const Number& part : parts) add_to(sum, part);
  return sum;
}

// How much is missing until `all`.
template <class Number>
Number missing(const Number& known, const Number& all) {
  return all > known ? all - known : Number{};
}

}  // namespace

void RankMetrics::header(const TraceHeader& header) {
  finished_ = sums();
  current_ = {};
  has_window_ = has_summary_ = false;
  last_ = header.started;
  latest_bubble_ = 0;
  header_ = header;
  if (idle_unknown_.empty()) idle_unknown_ = header.idle_unknown;
  last_record_ = std::max(last_record_, header.wall_clock);
}

void RankMetrics::take(const Record& record) {
  if (record.kind != RecordKind::limit) last_ = std::max(last_, record.time);
  visit_kind(record, [this](const auto& value) { add(value); });
}

RankSums RankMetrics::sums() const {
  RankSums sum = together(finished_, current_);
  if (has_window_) add_to(sum.window, window_end_ - window_begin_);
  return sum;
}

std::optional<Duration> RankMetrics::last_record() const {
  if (header_.wall_clock == Duration{}) return std::nullopt;
  return std::max(last_record_, header_.wall_clock + (last_ - header_.started));
}

std::optional<std::int32_t> RankMetrics::said_stage() const {
  return stages_differ_ ? std::nullopt : stage_;
}

void RankMetrics::widen(TimePoint from, TimePoint to) {
  window_begin_ = has_window_ ? std::min(window_begin_, from) : from;
  window_end_ = has_window_ ? std::max(window_end_, to) : to;
  has_window_ = true;
}

void RankMetrics::add(const Bubble& bubble) {
  const Duration length = bubble.closed - bubble.opened;
  const auto cause = static_cast<std::size_t>(bubble.cause);
  add_to(current_.idle[cause], length);
  add_to(current_.bubbles[cause], 1);
  count_length(bubble_lengths_, bubble_buckets, length);
  widen(bubble.opened, bubble.closed);
  if (bubble.id > latest_bubble_) {  // an older Weft wrote none
    add_to(current_.missing_bubbles, bubble.id - latest_bubble_ - 1);
    latest_bubble_ = bubble.id;
  }
  if (bubble.said.stage < 0) return;
  stages_differ_ = stages_differ_ || (stage_ && *stage_ != bubble.said.stage);
  stage_ = bubble.said.stage;
}

void RankMetrics::add(const UncertainRecord& uncertain) {
  add_to(current_.uncertain, uncertain.ended - uncertain.began);
  widen(uncertain.began, uncertain.ended);
}

void RankMetrics::add(const DarkTime& dark) {
  add_to(current_.dark, dark.ended - dark.began);
  widen(dark.began, dark.ended);
}

void RankMetrics::add(const SliceRecord& slice) {
  add_to(current_.slices, 1);
  add_to(current_.filled, slice.alone);
  if (!slice.unit_done) return;
  add_to(slice.correct == 1   ? current_.units_right
         : slice.correct == 0 ? current_.units_wrong
                              : current_.units_unchecked,
         1);
}

void RankMetrics::add(const Iteration& iteration) {
  add_to(current_.iterations, 1);
  count_length(iteration_lengths_, iteration_buckets, iteration.ended - iteration.started);
  widen(iteration.started, iteration.ended);
}

void RankMetrics::add(const MemoryRecord& memory) {
  memory_ = memory;
  ++memory_events_[static_cast<std::size_t>(memory.event)];
}

void RankMetrics::add(const AnomalyRecord& anomaly) {
  ++anomalies_;
  if (anomaly.stops_filling) stop(anomaly.text);
}

void RankMetrics::stop(const RecordText& reason) {
  if (filling_stopped_) return;
  filling_stopped_ = true;
  reason_ = reason;
}

void RankMetrics::summary(const TraceSummary& summary) {
  has_summary_ = true;
  last_ = std::max(last_, summary.window_end);
  raise(summary);
  if (summary.slowdown) slowdown_ = summary.slowdown;
  if (summary.watching) watching_ = summary.watching;
  if (summary.filling_stopped) stop(summary.reason);
  if (!unfilled_) unfilled_.emplace();
  add_to_all(*unfilled_, summary.unfilled);
  if (!dropped_) dropped_ = left_out_ = 0;
  add_to(*dropped_, summary.dropped_records);
  add_to(*left_out_, summary.records_left_out);
}

// The process's own totals are better than what its records say.
void RankMetrics::raise(const TraceSummary& summary) {
  if (summary.window_end >= summary.window_begin) widen(summary.window_begin, summary.window_end);
  RankSums& sums = current_;
  sums.uncertain = std::max(sums.uncertain, summary.uncertain);
  sums.dark = std::max(sums.dark, summary.dark);
  sums.filled = std::max(sums.filled, summary.filled);
  sums.iterations = std::max(sums.iterations, summary.iterations);
  sums.slices = std::max(sums.slices, summary.slices);
  add_to(sums.idle_not_recorded, missing(sum_of(sums.idle, sums.idle_not_recorded), summary.idle));
  add_to(sums.bubbles_not_recorded, missing(sum_of(sums.bubbles, sums.bubbles_not_recorded), summary.bubbles));
  sums.units_wrong = std::max(sums.units_wrong, summary.fill_units_wrong);
  const std::array units{sums.units_right, sums.units_wrong, sums.units_unchecked};
  add_to(sums.units_not_recorded, missing(sum_of(units, sums.units_not_recorded), summary.fill_units));
}

}  // namespace weft
