// The parts that come from sums of ranks; see the header.
#include "trace/report/report.h"

#include <algorithm>
#include <map>

#include "trace/names/slot_names.h"
#include "trace/names/slot_places.h"
#include "trace/read/printable.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

constexpr std::size_t most_slots = 200;

FillGain gain_of(const ReportedRun& run) {
  FillGain gain;
  Duration filled{};
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    const PartOfRun part = run.rank(trace).shown();
    ++gain.ranks;
    add_to(filled, part.filled);
    gain.hours_per_day += 24 * part.idle_share() * part.conversion();
  }
  gain.is_filled = filled > Duration{};
  gain.conversion = run.summary().total.shown().conversion();
  return gain;
}

void add(SeriesPoint& point, const KeptIteration& iteration, Duration since_begin) {
  const Duration length = iteration.ended - iteration.started;
  point.since_begin = point.length == Duration{} ? since_begin : std::min(point.since_begin, since_begin);
  point.length = std::max(point.length, length);
  add_to(point.time, length);
  add_to(point.idle, iteration.idle);
  add_to(point.filled, iteration.filled);
  point.left_out = point.left_out || iteration.left_out;
  point.forecasts += iteration.forecasts;
  point.within += iteration.forecasts_within;
  add_to(point.forecast_error, iteration.forecast_error);
  add_to(point.forecast_length, iteration.forecast_length);
}

// Of a short iteration on some ranks only nothing can be compared, so each has to be there on most.
std::vector<SeriesPoint> series_of(const ReportedRun& run) {
  std::map<IterationKey, std::pair<SeriesPoint, std::size_t>> points;
  std::size_t ranks = 0;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    ++ranks;
    const TimePoint begin = run.traces[trace].header.started;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations()) {
      if (!iteration.is_measured) continue;
      auto& [point, count] = points[key];
      point.key = key;
      add(point, iteration, iteration.started - begin);
      ++count;
    }
  }
  std::vector<SeriesPoint> series;
  for (const auto& [key, entry] : points)
    if (2 * entry.second > ranks) series.push_back(entry.first);
  return series;
}

void add_slots(Report& report) {
  const ReportedRun& run = *report.run;
  std::vector<RankSlot> all;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (run.rank(trace).unsure) continue;
    for (const SlotTotals& slot : run.rank(trace).slots) {
      all.push_back({slot, trace, {}});
      add_to(report.idle_of_slots, slot.idle);
    }
  }
  const auto kept = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most_slots));
  const auto more_idle = [](const RankSlot& one, const RankSlot& other) {
    return std::pair(other.slot.idle, one.rank) < std::pair(one.slot.idle, other.rank);
  };
  std::ranges::stable_sort(all, more_idle);
  report.slots_left_out = static_cast<std::size_t>(all.end() - kept);
  all.erase(kept, all.end());
  for (RankSlot& slot : all) {
    slot.name = name_of_slot(*run.named.names, slot.rank, *run.named.places[slot.rank], slot.slot,
                             run.rank(slot.rank).totals.iterations > 0);
    ReportedSlot reported{slot, {}, {}};
    if (const SlotFill* fill = run.traces[slot.rank].series.slot(slot.slot.slot, slot.slot.cause)) {
      reported.forecasts = fill->forecasts;
      reported.filled = fill->filled;
    }
    report.slots.push_back(std::move(reported));
  }
}

std::optional<std::size_t> slowest_by_fill(const ReportedRun& run) {
  std::optional<std::size_t> slowest;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    const std::optional<SlowdownRecord>& slowdown = run.rank(trace).totals.slowdown;
    if (run.rank(trace).unsure || !slowdown || slowdown->control == 0) continue;
    if (!slowest || slowdown->estimate > run.rank(*slowest).totals.slowdown->estimate) slowest = trace;
  }
  return slowest;
}

}  // namespace

Report make_report(const ReportedRun& run, const std::string& place, std::optional<std::uint64_t> iteration) {
  Report report;
  report.place = printable(place);
  report.run = &run;
  report.frontier = find_frontier(run);
  report.waits = find_waits(run);
  report.timeline = find_timeline(run, iteration);
  report.what_if = find_what_if(run, report.frontier);
  report.gain = gain_of(run);
  report.estimate.missing = "no estimate was made";
  report.series = series_of(run);
  add_slots(report);
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace)
    if (!run.rank(trace).unsure) report.forecasts.add(run.traces[trace].series.forecasts());
  report.slowest_by_fill = slowest_by_fill(run);
  return report;
}

}  // namespace weft::report
