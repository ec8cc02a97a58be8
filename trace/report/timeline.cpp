// The iteration that is shown; and short parts put together, so that the page does not grow with it. See the header.
#include "trace/report/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/clocks/clock_text.h"
#include "trace/report/reported_run.h"
#include "trace/report/timeline_parts.h"
#include "trace/report/timeline_rows.h"

namespace weft::report {
namespace {

// No message ended all of them.
void add(TimelinePart& merged, const TimelinePart& part) {
  merged.end = std::max(merged.end, part.end);
  if (merged.from != part.from) merged.from.reset();
  merged.sent.reset();
  merged.ended.reset();
}

// Parts of the same kind with less than `gap` between them become one, if the later one is short as well.
void merge_close(std::vector<TimelinePart>& parts, Duration gap, bool fill_only) {
  constexpr auto fill = static_cast<std::uint8_t>(TimelineKind::fill);
  std::vector<TimelinePart> merged;
  std::map<std::uint8_t, std::size_t> latest;
  for (const TimelinePart& part : parts) {
    const auto before = latest.find(part.kind);
    const bool may_merge = part.kind == fill || (!fill_only && part.end - part.begin <= gap);
    if (may_merge && before != latest.end() && part.begin - merged[before->second].end <= gap) {
      add(merged[before->second], part);
      continue;
    }
    latest[part.kind] = merged.size();
    merged.push_back(part);
  }
  parts = std::move(merged);
}

void fit(Timeline& timeline, const TimelineLimits& limits) {
  const auto count = [&] {
    std::size_t parts = 0;
    for (const TimelineRow& row : timeline.rows) parts += row.parts.size();
    return parts;
  };
  Duration gap = timeline.length / 4000;
  for (TimelineRow& row : timeline.rows) merge_close(row.parts, gap, true);
  bool merged = false;
  for (; count() > limits.parts && gap < timeline.length; gap *= 2) {
    merged = true;
    for (TimelineRow& row : timeline.rows) merge_close(row.parts, gap, false);
  }
  if (merged) timeline.notes.push_back("short bubbles that stand close are shown as one");
}

// Where a process has opened its communicators anew, its numbers count from 1 again: the first one of that number.
std::optional<IterationKey> numbered_iteration(const ReportedRun& run, std::uint64_t number) {
  std::optional<IterationKey> first;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      if (key.number == number && iteration.is_measured && (!first || key < *first)) first = key;
  }
  return first;
}

// ": there are 1 to 38"; "": there is none.
std::string those_there(const ReportedRun& run) {
  std::uint64_t first = 0, last = 0;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    const RankSeries& series = run.traces[trace].series;
    if (!run.counts(trace) || series.last_iteration() == 0) continue;
    first = first == 0 ? series.first_iteration() : std::min(first, series.first_iteration());
    last = std::max(last, series.last_iteration());
  }
  return last == 0 ? "" : ": there are " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::optional<IterationKey> median_iteration(const ReportedRun& run) {
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    std::vector<std::pair<Duration, IterationKey>> lengths;
    bool any_filled = false;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      any_filled = any_filled || (iteration.is_measured && iteration.filled > Duration{});
    for (const auto& [key, iteration] : run.traces[trace].series.iterations())
      if (iteration.is_measured && (!any_filled || iteration.filled > Duration{}))
        lengths.emplace_back(iteration.ended - iteration.started, key);
    if (lengths.empty()) continue;
    std::ranges::sort(lengths);
    return lengths[(lengths.size() - 1) / 2].second;
  }
  return std::nullopt;
}

Timeline find_timeline(const ReportedRun& run, std::optional<std::uint64_t> number, const TimelineLimits& limits) {
  Timeline timeline;
  const std::optional<IterationKey> chosen = number ? numbered_iteration(run, *number) : median_iteration(run);
  std::vector<std::size_t> traces;
  for (std::size_t trace = 0; chosen && trace < run.traces.size(); ++trace)
    if (run.counts(trace) && measured_iteration(run, trace, *chosen) != nullptr) traces.push_back(trace);
  if (traces.empty()) {
    timeline.missing = number ? "no rank has measured iteration " + std::to_string(*number) + those_there(run)
                              : "no iteration was found whose bubbles were measured";
    return timeline;
  }
  timeline.iteration = *chosen;
  timeline.is_median = !number;
  timeline.rows = choose_rows(run, traces, limits);
  timeline.ranks_left_out = run.traces.size() - timeline.rows.size();
  fill_rows(run, timeline);
  fit(timeline, limits);
  for (std::string& note : clock_notes(run.summary().clocks)) timeline.notes.push_back(std::move(note));
  return timeline;
}

}  // namespace weft::report
