// See the header.
#include "trace/compare/iteration_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace weft {
namespace {

// The same without an interval where there are too few for one.
std::optional<MeasuredShare> share_of(const std::vector<double>& parts, const std::vector<double>& wholes) {
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (whole <= 0) return std::nullopt;
  return MeasuredShare{std::accumulate(parts.begin(), parts.end(), 0.0) / whole, known_share(parts, wholes)};
}

std::optional<Interval> drift_of(std::span<const double> lengths) {
  constexpr double worth_saying = 0.01;
  const std::size_t third = lengths.size() / 3;
  const auto first = known_median(lengths.first(third)), last = known_median(lengths.last(third));
  if (!first || !last) return std::nullopt;
  const Interval drift = relative_change(*first, *last);
  if (drift.has_zero() || std::abs(drift.value) < worth_saying) return std::nullopt;
  return drift;
}

}  // namespace

void IterationSums::add(const IterationSums& other) {
  length += other.length;
  watched += other.watched;
  uncertain += other.uncertain;
  for (std::size_t cause = 0; cause < idle.size(); ++cause) idle[cause] += other.idle[cause];
  ranks += other.ranks;
}

bool IterationTable::add(IterationKey key, const IterationSums& sums) {
  const auto found = iterations_.find(key);
  if (found == iterations_.end() && iterations_.size() >= most_iterations) return false;
  iterations_[key].add(sums);
  return true;
}

IterationSums* IterationTable::find(IterationKey key) {
  const auto found = iterations_.find(key);
  return found == iterations_.end() ? nullptr : &found->second;
}

IterationNumbers IterationTable::numbers() const {
  std::uint32_t most_ranks = 0;
  for (const auto& [key, sums] : iterations_) most_ranks = std::max(most_ranks, sums.ranks);
  std::vector<double> lengths, watched, uncertain, idle;
  std::array<std::vector<double>, cause_names.size()> by_cause;
  for (const auto& [key, sums] : iterations_) {
    if (2 * sums.ranks < most_ranks) continue;
    lengths.push_back(sums.length / sums.ranks);
    if (sums.watched <= 0) continue;  // a dark one
    watched.push_back(sums.watched);
    uncertain.push_back(sums.uncertain);
    idle.push_back(std::accumulate(sums.idle.begin(), sums.idle.end(), 0.0));
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause].push_back(sums.idle[cause]);
  }
  IterationNumbers numbers;
  numbers.iterations = lengths.size();
  if (lengths.empty()) return numbers;
  std::vector<double> sorted = lengths;
  std::ranges::sort(sorted);
  numbers.length = MeasuredLength{quantile(sorted, 0.5), known_median(lengths)};
  numbers.idle = share_of(idle, watched);
  numbers.uncertain = share_of(uncertain, watched);
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
    numbers.by_cause[cause] = share_of(by_cause[cause], watched);
  numbers.drift = drift_of(lengths);
  return numbers;
}

}  // namespace weft
