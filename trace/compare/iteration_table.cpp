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

void forget_how_far_by_cause(IterationNumbers& numbers) {
  if (numbers.of_no_cause) numbers.of_no_cause->known.reset();
  for (auto& share : numbers.by_cause)
    if (share) share->known.reset();
}

void forget_how_far(IterationNumbers& numbers) {
  if (numbers.length) numbers.length->known.reset();
  if (numbers.mean) numbers.mean->known.reset();
  if (numbers.idle) numbers.idle->known.reset();
  if (numbers.uncertain) numbers.uncertain->known.reset();
  numbers.drift.reset();
  forget_how_far_by_cause(numbers);
}

void IterationSums::add(const IterationSums& other) {
  length += other.length;
  watched += other.watched;
  uncertain += other.uncertain;
  idle += other.idle;
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause] += other.by_cause[cause];
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
  std::vector<double> lengths, watched, uncertain, idle, of_no_cause;
  std::array<std::vector<double>, cause_names.size()> by_cause;
  for (const auto& [key, sums] : iterations_) {
    if (2 * sums.ranks < most_ranks) continue;
    lengths.push_back(sums.length / sums.ranks);
    if (sums.watched <= 0) continue;  // a dark one
    watched.push_back(sums.watched);
    uncertain.push_back(sums.uncertain);
    idle.push_back(sums.idle);
    of_no_cause.push_back(sums.idle - std::accumulate(sums.by_cause.begin(), sums.by_cause.end(), 0.0));
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause].push_back(sums.by_cause[cause]);
  }
  IterationNumbers numbers;
  numbers.iterations = lengths.size();
  if (lengths.empty()) return numbers;
  std::vector<double> sorted = lengths;
  std::ranges::sort(sorted);
  numbers.length = MeasuredLength{quantile(sorted, 0.5), known_median(lengths)};
  numbers.mean = MeasuredLength{
      std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size()), known_mean(lengths)};
  numbers.idle = share_of(idle, watched);
  numbers.uncertain = share_of(uncertain, watched);
  numbers.of_no_cause = share_of(of_no_cause, watched);
  numbers.held_by_two = held_by_two(watched);
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
    numbers.by_cause[cause] = share_of(by_cause[cause], watched);
  numbers.drift = drift_of(lengths);
  return numbers;
}

}  // namespace weft
