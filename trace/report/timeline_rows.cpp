// See the header.
#include "trace/report/timeline_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/report/reported_run.h"

namespace weft::report {
namespace {

double idle_share(const ReportedRun& run, std::size_t trace) {
  return run.rank(trace).shown().idle_share();
}

// Of the ranks of one stage: the one in the middle, and the one that waits most if that is another one.
void add_stage(const ReportedRun& run, std::vector<std::size_t> traces, std::size_t most,
               std::vector<TimelineRow>& rows) {
  std::ranges::stable_sort(traces, {}, [&](std::size_t trace) { return idle_share(run, trace); });
  const std::size_t middle = traces[(traces.size() - 1) / 2], last = traces.back();
  rows.push_back({middle, traces.size() > 1 ? "median" : "", {}, {}, {}});
  if (most > 1 && idle_share(run, last) > idle_share(run, middle)) rows.push_back({last, "most idle", {}, {}, {}});
}

// Evenly spread, where there are more.
template <class Value>
std::vector<Value> some_of(const std::vector<Value>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Value> some;
  for (std::size_t place = 0; place < most; ++place) some.push_back(all[place * all.size() / most]);
  return some;
}

}  // namespace

const KeptIteration* measured_iteration(const ReportedRun& run, std::size_t trace, const IterationKey& key) {
  const auto& iterations = run.traces[trace].series.iterations();
  const auto found = iterations.find(key);
  return found == iterations.end() || !found->second.is_measured ? nullptr : &found->second;
}

std::vector<TimelineRow> choose_rows(const ReportedRun& run, const std::vector<std::size_t>& traces,
                                     const TimelineLimits& limits) {
  std::map<std::int32_t, std::vector<std::size_t>> stages;
  for (const std::size_t trace : traces)
    stages[run.rank(trace).stage ? run.rank(trace).stage->stage : -1].push_back(trace);
  const bool has_stages = !stages.contains(-1);
  std::vector<TimelineRow> rows;
  if (traces.size() <= limits.all_ranks || !has_stages) {
    std::vector<std::size_t> ordered(
        traces.begin(), traces.begin() + static_cast<std::ptrdiff_t>(std::min(traces.size(), limits.all_ranks)));
    if (has_stages)
      std::ranges::stable_sort(ordered, {}, [&](std::size_t trace) { return run.rank(trace).stage->stage; });
    for (const std::size_t trace : ordered) rows.push_back({trace, "", {}, {}, {}});
    return rows;
  }
  std::vector<std::vector<std::size_t>> of_stage;
  for (auto& [stage, members] : stages) of_stage.push_back(std::move(members));
  const std::size_t of_each = 2 * of_stage.size() <= limits.rows ? 2 : 1;
  for (std::vector<std::size_t>& members : some_of(of_stage, limits.rows)) add_stage(run, members, of_each, rows);
  return rows;
}

}  // namespace weft::report
