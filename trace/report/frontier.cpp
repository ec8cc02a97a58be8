// See the header.
#include "trace/report/frontier.h"

#include <algorithm>
#include <set>

#include "detector/median.h"
#include "trace/report/reported_run.h"

namespace weft::report {
namespace {

constexpr std::size_t fewest_iterations = 4;
constexpr double most_of_them = 2.0 / 3;
// By so much it works longer than the next one, of an iteration, and of the idle time of that one: as `weft summary`
// has it. Stages that are equally long differ by their jitter.
constexpr double worth_saying = 0.01, worth_saying_of_idle = 0.1;

// Iterations that all of them have.
std::vector<IterationKey> common_iterations(const std::vector<UnitOfWork>& units,
                                            const std::map<IterationKey, Duration>& lengths) {
  std::vector<IterationKey> common;
  for (const auto& [key, length] : lengths)
    if (std::ranges::all_of(units, [&](const UnitOfWork& unit) { return unit.work.contains(key); }))
      common.push_back(key);
  return common;
}

// By medians.
void sort_out(Frontier& frontier) {
  std::vector<std::size_t> order;
  for (std::size_t unit = 0; unit < frontier.units.size(); ++unit) order.push_back(unit);
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    return frontier.units[one].median > frontier.units[other].median;
  });
  frontier.longest = order[0];
  frontier.next = order[1];
  const WorkOfUnit& longest = frontier.units[order[0]];
  const double length = static_cast<double>(frontier.length.count());
  const double next = static_cast<double>(frontier.units[order[1]].median.count());
  const double lead = static_cast<double>(longest.median.count()) - next;
  frontier.is_alike = lead <= std::max(worth_saying * length, worth_saying_of_idle * (length - next));
  if (longest.at_frontier >= most_of_them && !frontier.is_alike) frontier.slowest = order[0];
}

void find_rank(WorkOfUnit& work, const UnitOfWork& unit, const std::vector<IterationKey>& common) {
  std::map<std::string, std::size_t> ranks;
  for (const IterationKey& key : common)
    if (const auto found = unit.ranks.find(key); found != unit.ranks.end()) ++ranks[found->second];
  for (const auto& [rank, iterations] : ranks) {
    const double share = static_cast<double>(iterations) / static_cast<double>(common.size());
    if (share <= work.of_rank) continue;
    work.rank = rank;
    work.of_rank = share;
  }
}

bool all_have_stages(const ReportedRun& run) {
  std::set<std::int32_t> stages;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    if (!run.rank(trace).stage) return false;
    stages.insert(run.rank(trace).stage->stages);
  }
  return stages.size() == 1;
}

}  // namespace

Frontier find_frontier(const std::vector<UnitOfWork>& units, const std::map<IterationKey, Duration>& lengths) {
  Frontier frontier;
  if (units.size() < 2) frontier.missing = "there are traces of fewer than two ranks or stages whose time was measured";
  const std::vector<IterationKey> common =
      units.empty() ? std::vector<IterationKey>() : common_iterations(units, lengths);
  if (frontier.missing.empty() && common.size() < fewest_iterations)
    frontier.missing = "there are fewer than 4 iterations that all ranks have measured";
  if (!frontier.missing.empty()) return frontier;
  frontier.iterations = common.size();
  std::vector<std::vector<Duration>> work(units.size());
  std::vector<std::size_t> at_frontier(units.size());
  std::vector<Duration> all;
  for (const IterationKey& key : common) {
    for (std::size_t unit = 0; unit < units.size(); ++unit) work[unit].push_back(units[unit].work.at(key));
    const auto longest = std::ranges::max_element(work, {}, [](const auto& of_unit) { return of_unit.back(); });
    ++at_frontier[static_cast<std::size_t>(longest - work.begin())];
    all.push_back(lengths.at(key));
  }
  frontier.length = median(std::move(all));
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    frontier.units.push_back({units[unit].name, median(std::move(work[unit])),
                              static_cast<double>(at_frontier[unit]) / static_cast<double>(common.size())});
    find_rank(frontier.units.back(), units[unit], common);
  }
  sort_out(frontier);
  return frontier;
}

Frontier find_frontier(const ReportedRun& run) {
  const bool by_stage = all_have_stages(run);
  std::map<std::int64_t, UnitOfWork> units;
  std::map<std::int64_t, std::size_t> members;
  std::map<IterationKey, Duration> lengths;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    const std::int64_t number = by_stage ? run.rank(trace).stage->stage : static_cast<std::int64_t>(trace);
    UnitOfWork& unit = units[number];
    ++members[number];
    unit.name = by_stage ? "stage " + std::to_string(number) : "rank " + run.rank(trace).name;
    for (const auto& [key, iteration] : run.traces[trace].series.iterations()) {
      if (!iteration.is_measured) continue;
      const Duration length = iteration.ended - iteration.started;
      const Duration own = length - iteration.idle - iteration.uncertain;
      const auto [work, is_first] = unit.work.try_emplace(key, own);
      if (by_stage && (is_first || own > work->second)) unit.ranks[key] = run.rank(trace).name;
      work->second = std::max(work->second, own);
      lengths[key] = std::max(lengths[key], length);
    }
  }
  std::vector<UnitOfWork> listed;
  for (auto& [number, unit] : units) {
    if (members[number] == 1) unit.ranks.clear();
    listed.push_back(std::move(unit));
  }
  return find_frontier(listed, lengths);
}

}  // namespace weft::report
