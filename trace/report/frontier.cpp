// The comparison of stages; see the header.
#include "trace/report/frontier.h"

#include <algorithm>
#include <functional>

#include "detector/median.h"
#include "trace/formatted.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

constexpr std::size_t fewest_iterations = 4;
// By so much it works longer than the next one, of an iteration, and of the idle time of that one: as `weft summary`
// has it. Stages that are equally long differ by their jitter.
constexpr double worth_saying = 0.01, worth_saying_of_idle = 0.1;

double count(Duration time) {
  return static_cast<double>(time.count());
}

// Iterations that all of them have.
std::vector<IterationKey> common_iterations(const std::vector<UnitOfWork>& units,
                                            const std::map<IterationKey, Duration>& lengths) {
  std::vector<IterationKey> common;
  for (const auto& [key, length] : lengths)
    if (std::ranges::all_of(units, [&](const UnitOfWork& unit) { return unit.work.contains(key); }))
      common.push_back(key);
  return common;
}

// The largest of the units but one.
template <class Value>
std::size_t largest_but(const std::vector<WorkOfUnit>& units, std::size_t left_out, Value WorkOfUnit::*value) {
  std::size_t largest = left_out == 0 ? 1 : 0;
  for (std::size_t unit = largest + 1; unit < units.size(); ++unit)
    if (unit != left_out && units[unit].*value > units[largest].*value) largest = unit;
  return largest;
}

void find_rank(WorkOfUnit& work, const UnitOfWork& unit, const std::vector<IterationKey>& common) {
  std::map<std::string, std::size_t> ranks;
  for (const IterationKey& key : common)
    if (const std::string& rank = unit.work.at(key).rank; !rank.empty()) ++ranks[rank];
  for (const auto& [rank, iterations] : ranks) {
    const double share = static_cast<double>(iterations) / static_cast<double>(common.size());
    if (share <= work.of_rank) continue;
    work.rank = rank;
    work.of_rank = share;
  }
}

WorkOfUnit work_of(const UnitOfWork& unit, const std::vector<IterationKey>& common,
                   const std::map<IterationKey, Duration>& lengths) {
  WorkOfUnit work;
  work.name = unit.name;
  std::vector<Duration> least, most;
  Duration uncertain{}, all{};
  for (const IterationKey& key : common) {
    const WorkInIteration& own = unit.work.at(key);
    least.push_back(own.least);
    most.push_back(own.most);
    add_to(uncertain, own.most - own.least);
    add_to(all, lengths.at(key));
  }
  work.least = median(std::move(least));
  work.most = median(std::move(most));
  work.uncertain = count(uncertain) / std::max(count(all), 1.0);
  find_rank(work, unit, common);
  return work;
}

// The unit that surely works longest in the iteration; units.size(): that is not sure, and those that may be it are
// noted in `contenders`.
std::size_t longest_in(const std::vector<UnitOfWork>& units, const IterationKey& key, std::vector<bool>& contenders) {
  const auto least = [&](const UnitOfWork& unit) { return unit.work.at(key).least; };
  const auto longest = std::ranges::max_element(units, {}, least);
  bool is_sure = true;
  for (std::size_t other = 0; other < units.size(); ++other) {
    if (&units[other] == &*longest || units[other].work.at(key).most <= least(*longest)) continue;
    is_sure = false;
    contenders[other] = true;
  }
  const auto number = static_cast<std::size_t>(longest - units.begin());
  if (!is_sure) contenders[number] = true;
  return is_sure ? number : units.size();
}

// Of the units that are considered.
std::size_t most_uncertain(const Frontier& frontier, const std::function<bool(const WorkOfUnit&)>& considered) {
  std::size_t found = frontier.longest;
  for (std::size_t at = 0; at < frontier.units.size(); ++at)
    if (considered(frontier.units[at]) && frontier.units[at].uncertain > frontier.units[found].uncertain) found = at;
  return found;
}

// Of iterations in which nobody surely works longest each might be one of any unit.
Lead lead_by_iterations(const Frontier& frontier) {
  const std::vector<WorkOfUnit>& units = frontier.units;
  const double of_longest = units[frontier.longest].at_frontier;
  if (of_longest >= most_of_them) return Lead::clear;
  double unsure = 1;
  for (const WorkOfUnit& unit : units) unsure -= unit.at_frontier;
  const double most = units[frontier.most_often].at_frontier;
  const double second = units[largest_but(units, frontier.most_often, &WorkOfUnit::at_frontier)].at_frontier;
  constexpr double rounding = 1e-9;
  if (unsure > rounding && (of_longest + unsure >= most_of_them || unsure >= most - second)) return Lead::uncertain;
  return frontier.most_often == frontier.longest ? Lead::more_often : Lead::mixed;
}

void judge(Frontier& frontier) {
  const std::vector<WorkOfUnit>& units = frontier.units;
  const auto largest = [&](auto value) {
    return static_cast<std::size_t>(std::ranges::max_element(units, {}, value) - units.begin());
  };
  frontier.longest = largest(&WorkOfUnit::least);
  frontier.most_often = largest(&WorkOfUnit::at_frontier);
  if (units[frontier.most_often].at_frontier <= units[frontier.longest].at_frontier)
    frontier.most_often = frontier.longest;
  frontier.next = largest_but(units, frontier.longest, &WorkOfUnit::most);
  const double length = count(frontier.length), next = count(units[frontier.next].most);
  const double threshold = std::max(worth_saying * length, worth_saying_of_idle * (length - next));
  const double least = count(units[frontier.longest].least);
  if (least - next > threshold) {
    frontier.lead = lead_by_iterations(frontier);
    frontier.unclear = most_uncertain(frontier, [](const WorkOfUnit& unit) { return unit.is_contender; });
    return;
  }
  frontier.unclear =
      most_uncertain(frontier, [&](const WorkOfUnit& unit) { return count(unit.most) >= least - threshold; });
  frontier.lead = units[frontier.unclear].uncertain * length > threshold ? Lead::uncertain : Lead::alike;
}

// Of a stage those that are there in most iterations.
std::size_t ranks_of(const UnitOfWork& unit, const std::vector<IterationKey>& common) {
  std::vector<std::size_t> ranks;
  for (const IterationKey& key : common) ranks.push_back(unit.work.at(key).ranks);
  return median(std::move(ranks));
}

}  // namespace

Frontier find_frontier(const std::vector<UnitOfWork>& units, const std::map<IterationKey, Duration>& lengths,
                       std::size_t ranks) {
  Frontier frontier;
  frontier.ranks = ranks;
  if (units.size() < 2) frontier.missing = "there are traces of fewer than two ranks or stages whose time was measured";
  const std::vector<IterationKey> common =
      units.empty() ? std::vector<IterationKey>() : common_iterations(units, lengths);
  if (frontier.missing.empty() && common.size() < fewest_iterations)
    frontier.missing = "there are fewer than 4 iterations that all ranks have measured";
  if (!frontier.missing.empty()) return frontier;
  frontier.iterations = common.size();
  std::vector<std::size_t> at_frontier(units.size() + 1);
  std::vector<bool> contenders(units.size());
  std::vector<Duration> all;
  for (const IterationKey& key : common) {
    ++at_frontier[longest_in(units, key, contenders)];
    all.push_back(lengths.at(key));
  }
  frontier.length = median(std::move(all));
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    WorkOfUnit& work = frontier.units.emplace_back(work_of(units[unit], common, lengths));
    work.at_frontier = static_cast<double>(at_frontier[unit]) / static_cast<double>(common.size());
    work.is_contender = contenders[unit];
    frontier.ranks_compared += ranks_of(units[unit], common);
  }
  judge(frontier);
  return frontier;
}

std::string uncertain_text(const Frontier& frontier) {
  const WorkOfUnit& unit = frontier.units[frontier.unclear];
  return formatted("%.1f %% of ", 100 * unit.uncertain) + unit.name + "'s time is uncertain";
}

std::string compared_text(const Frontier& frontier) {
  return frontier.has_all_ranks()
             ? ""
             : formatted("of the ranks that can be compared (%zu of %zu)", frontier.ranks_compared, frontier.ranks);
}

}  // namespace weft::report
